//! `bird.conf`: the node's own addresses and the kernel, and around them the parts that have a file of their own.

use super::text::BirdWriter;
use super::{BirdRelease, fabric, filter, speaker};
use crate::model::fabric::PeerAddress;
use crate::model::{BgpModel, Family};
use crate::render::RouterAddresses;
use ichor_values::LinkName;

/// As many paths to one destination as the kernel is given.
const PATHS: u16 = 64;

/// What the file is made from.
pub struct BirdInputs<'a> {
    /// What is meant.
    pub model: &'a BgpModel,
    /// Who reads it.
    pub release: BirdRelease,
    /// Seconds that neighbours keep routes through a planned restart.
    pub graceful_restart: Option<u16>,
    /// Routers whose addresses are known.
    pub routers: &'a RouterAddresses,
}

/// The file.
pub(crate) fn render(told: &BirdInputs<'_>, passwords: &[Option<String>]) -> String {
    let mut text = BirdWriter::default();
    head(&mut text, told);
    own_addresses(&mut text, told.model);
    for family in Family::ALL {
        kernel(&mut text, told, family);
    }
    fabric::bfd(&mut text, told.model);
    fabric::advertisements(&mut text, told);
    fabric::inward(&mut text, told.model);
    filter::outward(&mut text, told.model);
    for (neighbor, password) in told.model.fabric.neighbors.iter().zip(passwords) {
        fabric::session(&mut text, told, neighbor, password.as_deref());
    }
    if let Some(workload) = &told.model.workload {
        speaker::render(&mut text, workload);
    }
    text.finish()
}

/// BIRD's words for a family: of the channel, and at the end of names.
pub fn words(family: Family) -> (&'static str, &'static str) {
    match family {
        Family::V4 => ("ipv4", "v4"),
        Family::V6 => ("ipv6", "v6"),
    }
}

fn head(text: &mut BirdWriter, told: &BirdInputs<'_>) {
    let model = told.model;
    text.remark(format_args!("{}: written by ichor", model.name));
    for neighbor in &model.fabric.neighbors {
        if let PeerAddress::Port { name, mac: Some(mac) } = &neighbor.found {
            text.remark(format_args!("{name} is the port with the MAC address {mac}"));
        }
    }
    text.say("log stderr all");
    text.say(format_args!("router id {}", model.router_id));
    if let Some(time) = told.graceful_restart {
        text.say(format_args!("graceful restart wait {time}"));
    }
    text.block("protocol device", |text| text.say("scan time 10"));
}

/// What the node announces of itself: exactly the addresses that are meant, each while its link has it.
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
            text.say(format_args!("interface \"{link}\""));
            for family in Family::ALL {
                let nets = announced.iter().filter(|it| it.link == *link).map(|it| it.net);
                let mut nets = nets.filter(|net| Family::of(*net) == family).peekable();
                if nets.peek().is_some() {
                    let (channel, _) = words(family);
                    let nets = filter::exactly(nets);
                    text.part(channel, |text| text.say(format_args!("import where net ~ {nets}")));
                }
            }
        });
    }
}

/// What the fabric taught goes to the kernel, with the node's own source. What the speaker sends is for others.
fn kernel(text: &mut BirdWriter, told: &BirdInputs<'_>, family: Family) {
    let (channel, suffix) = words(family);
    let mut sources = told.model.sources.iter();
    let source = sources.find(|source| source.is_ipv4() == (family == Family::V4));
    text.block(format_args!("protocol kernel kernel_{suffix}"), |text| {
        text.say(format_args!("merge paths on limit {PATHS}"));
        if told.graceful_restart.is_some() {
            text.say("graceful restart on");
        }
        text.part(channel, |text| {
            text.say("import none");
            text.part("export filter", |text| {
                text.say("if source != RTS_BGP || proto ~ \"load_balancer*\" then reject");
                if let Some(source) = source {
                    text.say(format_args!("krt_prefsrc = {source}"));
                }
                text.say("accept");
            });
        });
    });
}
