//! `bird.conf`: the node's own addresses and the kernel protocols, and the parts that other modules render.

use super::writer::BirdWriter;
use super::{BirdRelease, fabric, filter, speaker};
use crate::model::fabric::PeerAddress;
use crate::model::{BgpModel, Family};
use crate::render::RouterAddresses;
use ichor_values::LinkName;

/// The maximum number of next hops of a kernel route.
const PATHS: u16 = 64;

/// The inputs of the file.
pub struct BirdInputs<'a> {
    /// The BGP model.
    pub model: &'a BgpModel,
    /// The release that reads the file.
    pub release: BirdRelease,
    /// Seconds that neighbours keep routes through a planned restart.
    pub graceful_restart: Option<u16>,
    /// Routers with known addresses.
    pub routers: &'a RouterAddresses,
}

/// Renders the file.
pub(crate) fn render(inputs: &BirdInputs<'_>, passwords: &[Option<String>]) -> String {
    let mut text = BirdWriter::default();
    head(&mut text, inputs);
    own_addresses(&mut text, inputs.model);
    for family in Family::ALL {
        kernel(&mut text, inputs, family);
    }
    fabric::bfd(&mut text, inputs.model);
    fabric::advertisements(&mut text, inputs);
    fabric::import_filters(&mut text, inputs.model);
    filter::export_filter(&mut text, inputs.model);
    for (neighbor, password) in inputs.model.fabric.neighbors.iter().zip(passwords) {
        fabric::session(&mut text, inputs, neighbor, password.as_deref());
    }
    if let Some(workload) = &inputs.model.workload {
        speaker::render(&mut text, workload);
    }
    text.finish()
}

/// BIRD's names of a family: of the channel, and as a suffix.
pub fn words(family: Family) -> (&'static str, &'static str) {
    match family {
        Family::V4 => ("ipv4", "v4"),
        Family::V6 => ("ipv6", "v6"),
    }
}

fn head(text: &mut BirdWriter, inputs: &BirdInputs<'_>) {
    let model = inputs.model;
    text.comment(format_args!("{}: written by ichor", model.name));
    for neighbor in &model.fabric.neighbors {
        if let PeerAddress::Port { name, mac: Some(mac) } = &neighbor.found {
            text.comment(format_args!("{name} is the port with the MAC address {mac}"));
        }
    }
    text.statement("log stderr all");
    text.statement(format_args!("router id {}", model.router_id));
    if let Some(time) = inputs.graceful_restart {
        text.statement(format_args!("graceful restart wait {time}"));
    }
    text.block("protocol device", |text| text.statement("scan time 10"));
}

/// The node's own announcements: exactly the addresses of the model, each while its link has it.
fn own_addresses(text: &mut BirdWriter, model: &BgpModel) {
    let announced = &model.fabric.announced;
    let mut links: Vec<&LinkName> = Vec::new();
    for it in announced {
        if !links.contains(&&it.link) {
            links.push(&it.link);
        }
    }
    for link in links {
        text.block(format_args!("protocol direct 'node-addresses-{link}'"), |text| {
            text.statement(format_args!("interface \"{link}\""));
            for family in Family::ALL {
                let nets = announced.iter().filter(|it| it.link == *link).map(|it| it.net);
                let mut nets = nets.filter(|net| Family::of(*net) == family).peekable();
                if nets.peek().is_some() {
                    let (channel, _) = words(family);
                    let nets = filter::exactly(nets);
                    text.part(channel, |text| text.statement(format_args!("import where net ~ {nets}")));
                }
            }
        });
    }
}

/// Exports the fabric's routes to the kernel, with the node's source address. The load balancer's routes are for other
/// nodes.
fn kernel(text: &mut BirdWriter, inputs: &BirdInputs<'_>, family: Family) {
    let (channel, suffix) = words(family);
    let mut sources = inputs.model.sources.iter();
    let source = sources.find(|source| source.is_ipv4() == (family == Family::V4));
    text.block(format_args!("protocol kernel kernel_{suffix}"), |text| {
        text.statement(format_args!("merge paths on limit {PATHS}"));
        if inputs.graceful_restart.is_some() {
            text.statement("graceful restart on");
        }
        text.part(channel, |text| {
            text.statement("import none");
            text.part("export filter", |text| {
                text.statement("if source != RTS_BGP || proto ~ \"load_balancer*\" then reject");
                if let Some(source) = source {
                    text.statement(format_args!("krt_prefsrc = {source}"));
                }
                text.statement("accept");
            });
        });
    });
}
