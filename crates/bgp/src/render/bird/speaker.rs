//! Toward the speaker: its session, and the way of its routes to the fabric. Nothing is announced to it.

use ipnet::IpNet;

use super::conf::words;
use super::text::BirdWriter;
use super::{fabric, filter};
use crate::model::{Family, RoutingDomain, Workload};

/// BIRD's own preference of what comes by BGP.
const PREFERENCE: u16 = 100;

/// Everything about the speaker.
pub(crate) fn render(text: &mut BirdWriter, workload: &Workload) {
    for &family in &workload.families {
        let (_, suffix) = words(family);
        filter::gate(text, &format!("load_balancer_in_{suffix}"), &workload.filter, family, &[]);
    }
    match &workload.domain {
        RoutingDomain::Vrf { name, .. } => in_vrf(text, workload, name),
        RoutingDomain::Shared | RoutingDomain::Namespace { .. } => beside(text, workload),
    }
}

/// BIRD's end of the link is in a VRF: its routes have tables of their own, and one way out of them.
fn in_vrf(text: &mut BirdWriter, workload: &Workload, vrf: &str) {
    tables(text, &workload.families, "load_balancer");
    let theirs = &workload.theirs;
    text.block("protocol bgp load_balancer", |text| {
        text.say(format_args!("vrf \"{vrf}\""));
        local(text, workload);
        text.say(format_args!("neighbor {} as {}", theirs.address, theirs.asn));
        text.say("direct");
        text.say("passive on");
        fabric::timing(text, workload.bfd, workload.timers);
        for &family in &workload.families {
            let (_, suffix) = words(family);
            channel(text, workload, family, |text| text.say(format_args!("table load_balancer_{suffix}")));
        }
    });
    for &family in &workload.families {
        let (_, suffix) = words(family);
        text.block(format_args!("protocol pipe from_load_balancer_{suffix}"), |text| {
            text.say(format_args!("table master{}", &suffix[1..]));
            text.say(format_args!("peer table load_balancer_{suffix}"));
            text.say("import all");
            text.say("export none");
        });
    }
}

/// Both ends of the link are here. The speaker's address is then one of the node's own, which BIRD takes from a range only, and
/// with tables that know no way to it: the routes are unreachable here and go out all the same. What other nodes say of the same
/// address can be reached, and would be taken instead; so the speaker's have the higher preference.
fn beside(text: &mut BirdWriter, workload: &Workload) {
    tables(text, &hops(workload, &workload.families), "empty");
    let link = IpNet::new(workload.ours.address, workload.prefix).map(|net| net.trunc());
    let link = link.unwrap_or_else(|_| IpNet::from(workload.theirs.address));
    text.block("protocol bgp load_balancer", |text| {
        local(text, workload);
        text.say(format_args!("neighbor range {link} as {}", workload.theirs.asn));
        text.say("dynamic name \"load_balancer-\"");
        text.say("multihop 2");
        text.say("passive on");
        fabric::timing(text, workload.bfd, workload.timers);
        for &family in &workload.families {
            channel(text, workload, family, |text| {
                text.say(format_args!("preference {}", PREFERENCE + 1));
                for family in hops(workload, &[family]) {
                    text.say(format_args!("igp table empty_{}", words(family).1));
                }
            });
        }
    });
}

/// The families that next hops of these can be of.
fn hops(workload: &Workload, families: &[Family]) -> Vec<Family> {
    let extends = workload.extends_next_hops() && families.contains(&Family::V4);
    let can_be = |family: &Family| families.contains(family) || (extends && *family == Family::V6);
    Family::ALL.into_iter().filter(can_be).collect()
}

fn tables(text: &mut BirdWriter, families: &[Family], name: &str) {
    text.apart();
    for &family in families {
        let (channel, suffix) = words(family);
        text.say(format_args!("{channel} table {name}_{suffix}"));
    }
}

fn local(text: &mut BirdWriter, workload: &Workload) {
    text.say(format_args!("local {} as {}", workload.ours.address, workload.ours.asn));
}

fn channel(text: &mut BirdWriter, workload: &Workload, family: Family, more: impl FnOnce(&mut BirdWriter)) {
    let (channel, suffix) = words(family);
    text.part(channel, |text| {
        more(text);
        text.say(format_args!("import filter load_balancer_in_{suffix}"));
        text.say("export none");
        if family == Family::V4 && workload.extends_next_hops() {
            text.say("extended next hop on");
        }
    });
}
