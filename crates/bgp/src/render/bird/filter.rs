//! Prefix filters and export policy, as BIRD's filters.

use ipnet::IpNet;

use super::writer::BirdWriter;
use crate::model::{BgpModel, Family, PrefixFilter, PrefixRule};
use ichor_values::{Asn, Community};

/// A filter of one family, which applies `set` to the routes that it accepts.
pub fn prefix_filter(
    text: &mut BirdWriter,
    name: &str,
    filter: &PrefixFilter,
    family: Family,
    set: &[String],
) {
    let terms: Vec<_> = filter.rules_for(family).copied().collect();
    let permit = |text: &mut BirdWriter| {
        for statement in set {
            text.statement(statement);
        }
        text.statement("accept");
    };
    text.block(format_args!("filter {name}"), |text| {
        // The first rule that matches decides, so consecutive rules with the same action form one set.
        for run in terms.chunk_by(|one, other| one.permit == other.permit) {
            let head = format!("if net ~ {}", prefixes(run));
            match (run[0].permit, set) {
                (true, []) => text.statement(format_args!("{head} then accept")),
                (true, _) => text.nested(format_args!("{head} then"), permit),
                (false, _) => text.statement(format_args!("{head} then reject")),
            }
        }
        text.statement("reject");
    });
}

/// Exports only routes that originate on this node or at its load balancer, whatever their prefix: otherwise a node
/// between two leafs would provide transit.
pub fn export_filter(text: &mut BirdWriter, model: &BgpModel) {
    let outward = &model.fabric.outward;
    text.block("filter fabric_out", |text| {
        match model.workload.as_ref().map(|workload| workload.theirs.asn) {
            None => text.statement("if !(proto ~ \"node-addresses-*\") then reject"),
            Some(asn) => {
                let speaker = format!("(proto ~ \"load_balancer*\" && bgp_path ~ [= {asn} =])");
                text.statement(format_args!("if !(proto ~ \"node-addresses-*\") && !{speaker} then reject"));
            }
        }
        for community in &outward.communities {
            text.statement(added(community));
        }
        for _ in 0..outward.prepend {
            text.statement(prepended(model.asn));
        }
        text.statement("accept");
    });
}

/// A set that matches exactly these prefixes.
pub(crate) fn exactly(nets: impl Iterator<Item = IpNet>) -> String {
    prefixes(&nets.map(|net| PrefixRule::exactly(true, net)).collect::<Vec<_>>())
}

fn prefixes(terms: &[PrefixRule]) -> String {
    let one = |term: &PrefixRule| {
        let net = term.net.trunc();
        match (term.least, term.most) {
            (least, most) if least == net.prefix_len() && most == least => net.to_string(),
            (least, most) => format!("{net}{{{least},{most}}}"),
        }
    };
    format!("[ {} ]", terms.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn prepended(asn: Asn) -> String {
    format!("bgp_path.prepend({asn})")
}

/// BIRD has no names for well-known communities: the numbers are IANA's.
fn added(community: &Community) -> String {
    let numbers = match community.as_str() {
        "no-export" => "65535:65281",
        "no-advertise" => "65535:65282",
        "local-as" => "65535:65283",
        "no-peer" => "65535:65284",
        "blackhole" => "65535:666",
        "graceful-shutdown" => "65535:0",
        "accept-own" => "65535:1",
        numbers => numbers,
    };
    let kind = if numbers.split(':').count() == 3 { "bgp_large_community" } else { "bgp_community" };
    format!("{kind}.add(({}))", numbers.replace(':', ", "))
}
