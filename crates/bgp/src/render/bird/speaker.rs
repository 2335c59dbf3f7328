//! BGP with the load balancer: its session, and the path of its routes to the fabric. Nothing is announced to it.

use ipnet::IpNet;

use super::conf::words;
use super::writer::BirdWriter;
use super::{fabric, filter};
use crate::model::{Family, RoutingDomain, Workload};

/// BIRD's default preference of BGP routes.
const PREFERENCE: u16 = 100;

/// Renders everything about the load balancer.
pub(crate) fn render(text: &mut BirdWriter, workload: &Workload) {
    for &family in &workload.families {
        let (_, suffix) = words(family);
        filter::prefix_filter(text, &format!("load_balancer_in_{suffix}"), &workload.filter, family, &[]);
    }
    match &workload.domain {
        RoutingDomain::Vrf { name, .. } => in_vrf(text, workload, name),
        RoutingDomain::Shared | RoutingDomain::Namespace { .. } => in_main_table(text, workload),
    }
}

/// BIRD's end of the link is in a VRF: its routes have separate tables, and one pipe out of them.
fn in_vrf(text: &mut BirdWriter, workload: &Workload, vrf: &str) {
    tables(text, &workload.families, "load_balancer");
    let theirs = &workload.theirs;
    text.block("protocol bgp load_balancer", |text| {
        text.statement(format_args!("vrf \"{vrf}\""));
        local(text, workload);
        text.statement(format_args!("neighbor {} as {}", theirs.address, theirs.asn));
        text.statement("direct");
        text.statement("passive on");
        fabric::timing(text, workload.bfd, workload.timers);
        for &family in &workload.families {
            let (_, suffix) = words(family);
            channel(text, workload, family, |text| {
                text.statement(format_args!("table load_balancer_{suffix}"));
            });
        }
    });
    for &family in &workload.families {
        let (_, suffix) = words(family);
        text.block(format_args!("protocol pipe from_load_balancer_{suffix}"), |text| {
            text.statement(format_args!("table master{}", &suffix[1..]));
            text.statement(format_args!("peer table load_balancer_{suffix}"));
            text.statement("import all");
            text.statement("export none");
        });
    }
}

/// Both ends of the link are in the main table. The load balancer's address is then one of the node's own, which BIRD
/// accepts only from a range, and only with tables without a route to it: the routes are unreachable on this node, and
/// announced nonetheless. Routes of other nodes to the same address are reachable and would be preferred; so the load
/// balancer's have a higher preference.
fn in_main_table(text: &mut BirdWriter, workload: &Workload) {
    tables(text, &hops(workload, &workload.families), "empty");
    let link = IpNet::new(workload.ours.address, workload.prefix).map(|net| net.trunc());
    let link = link.unwrap_or_else(|_| IpNet::from(workload.theirs.address));
    text.block("protocol bgp load_balancer", |text| {
        local(text, workload);
        text.statement(format_args!("neighbor range {link} as {}", workload.theirs.asn));
        text.statement("dynamic name \"load_balancer-\"");
        text.statement("multihop 2");
        text.statement("passive on");
        fabric::timing(text, workload.bfd, workload.timers);
        for &family in &workload.families {
            channel(text, workload, family, |text| {
                text.statement(format_args!("preference {}", PREFERENCE + 1));
                for family in hops(workload, &[family]) {
                    text.statement(format_args!("igp table empty_{}", words(family).1));
                }
            });
        }
    });
}

/// The families that the next hops of these families can have.
fn hops(workload: &Workload, families: &[Family]) -> Vec<Family> {
    let extends = workload.extends_next_hops() && families.contains(&Family::V4);
    let can_be = |family: &Family| families.contains(family) || (extends && *family == Family::V6);
    Family::ALL.into_iter().filter(can_be).collect()
}

fn tables(text: &mut BirdWriter, families: &[Family], name: &str) {
    text.blank_line();
    for &family in families {
        let (channel, suffix) = words(family);
        text.statement(format_args!("{channel} table {name}_{suffix}"));
    }
}

fn local(text: &mut BirdWriter, workload: &Workload) {
    text.statement(format_args!("local {} as {}", workload.ours.address, workload.ours.asn));
}

fn channel(text: &mut BirdWriter, workload: &Workload, family: Family, more: impl FnOnce(&mut BirdWriter)) {
    let (channel, suffix) = words(family);
    text.part(channel, |text| {
        more(text);
        text.statement(format_args!("import filter load_balancer_in_{suffix}"));
        text.statement("export none");
        if family == Family::V4 && workload.extends_next_hops() {
            text.statement("extended next hop on");
        }
    });
}
