//! What is let through, as BIRD's filters.

use ipnet::IpNet;

use super::text::BirdWriter;
use crate::model::{BgpModel, Family, PrefixFilter, PrefixRule};
use ichor_values::{Asn, Community};

/// A filter of one family, which does `set` to what it lets through.
pub fn gate(text: &mut BirdWriter, name: &str, filter: &PrefixFilter, family: Family, set: &[String]) {
    let terms: Vec<_> = filter.of(family).copied().collect();
    let permit = |text: &mut BirdWriter| {
        for statement in set {
            text.say(statement);
        }
        text.say("accept");
    };
    text.block(format_args!("filter {name}"), |text| {
        // The first term that matches decides, so those that follow each other and agree are one set.
        for run in terms.chunk_by(|one, other| one.permit == other.permit) {
            let head = format!("if net ~ {}", prefixes(run));
            match (run[0].permit, set) {
                (true, []) => text.say(format_args!("{head} then accept")),
                (true, _) => text.nested(format_args!("{head} then"), permit),
                (false, _) => text.say(format_args!("{head} then reject")),
            }
        }
        text.say("reject");
    });
}

/// Only what starts here or at the speaker goes out, whatever the prefix: else a node between two leafs is transit.
pub fn outward(text: &mut BirdWriter, model: &BgpModel) {
    let outward = &model.fabric.outward;
    text.block("filter fabric_out", |text| {
        match model.workload.as_ref().map(|workload| workload.theirs.asn) {
            None => text.say("if !(proto ~ \"node-addresses-*\") then reject"),
            Some(asn) => {
                let speaker = format!("(proto ~ \"load_balancer*\" && bgp_path ~ [= {asn} =])");
                text.say(format_args!("if !(proto ~ \"node-addresses-*\") && !{speaker} then reject"));
            }
        }
        for community in &outward.communities {
            text.say(added(community));
        }
        for _ in 0..outward.prepend {
            text.say(prepended(model.asn));
        }
        text.say("accept");
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

/// BIRD knows no names: the numbers are IANA's.
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
