//! Toward the fabric: sessions, and how neighbours on a port are found.

use std::fmt::Display;

use super::conf::{BirdInputs, words};
use super::filter;
use super::text::BirdWriter;
use crate::model::fabric::{Neighbor, PeerAddress};
use crate::model::{Bfd, BgpModel, Family, RoutingDomain};
use ichor_values::LinkName;

/// BFD itself; how it is wanted stands with each session. The one of the fabric takes no sessions of a VRF from the other, whose
/// socket alone hears what comes there.
pub fn bfd(text: &mut BirdWriter, model: &BgpModel) {
    let vrf =
        model.workload.as_ref().filter(|workload| workload.bfd.is_some()).and_then(|it| match &it.domain {
            RoutingDomain::Vrf { name, .. } => Some(name),
            _ => None,
        });
    if model.fabric.neighbors.iter().any(|neighbor| neighbor.bfd.is_some()) {
        text.block("protocol bfd bfd_fabric", |text| {
            if vrf.is_some() {
                text.say("vrf default");
            }
            text.say("accept direct");
        });
    }
    if let Some(vrf) = vrf {
        text.block("protocol bfd bfd_load_balancer", |text| {
            text.say(format_args!("vrf \"{vrf}\""));
            text.say("accept direct");
        });
    }
}

/// Router advertisements, by which neighbours without addresses find each other. They give away neither a default route nor a
/// prefix.
pub(crate) fn advertisements(text: &mut BirdWriter, told: &BirdInputs<'_>) {
    for neighbor in &told.model.fabric.neighbors {
        let PeerAddress::Port { name, .. } = &neighbor.found else { continue };
        let discovers = discovers(told, neighbor);
        if discovers {
            text.apart();
            text.say(format_args!("neighbor table 'found-{name}'"));
        }
        text.block(format_args!("protocol radv 'discovery-{name}'"), |text| {
            if discovers {
                text.part("neighbors", |text| text.say(format_args!("table 'found-{name}'")));
            }
            text.part(format_args!("interface \"{name}\""), |text| {
                text.say("max ra interval 10");
                text.say("default lifetime 0");
                text.part("prefix ::/0", |text| text.say("skip"));
                if discovers {
                    text.say("router discovery on");
                }
            });
        });
    }
}

/// The filters for what comes in.
pub fn inward(text: &mut BirdWriter, model: &BgpModel) {
    let inward = &model.fabric.inward;
    let preference = inward.local_preference.map(|number| format!("bgp_local_pref = {number}"));
    for family in Family::ALL {
        let (_, suffix) = words(family);
        filter::gate(text, &format!("fabric_in_{suffix}"), &inward.filter, family, preference.as_slice());
    }
}

/// One session.
pub fn session(text: &mut BirdWriter, told: &BirdInputs<'_>, neighbor: &Neighbor, password: Option<&str>) {
    let name = match &neighbor.found {
        PeerAddress::Port { name, .. } => name.to_string(),
        PeerAddress::Address { address, .. } => address.to_string(),
    };
    text.block(format_args!("protocol bgp 'fabric-{name}'"), |text| {
        peer(text, told, neighbor);
        if let Some(password) = password {
            if told.release.names_authentication() {
                text.say("authentication md5");
            }
            text.say(format_args!("password \"{password}\""));
        }
        timing(text, neighbor.bfd, neighbor.timers);
        if let Some(time) = told.graceful_restart {
            text.say("graceful restart on");
            text.say(format_args!("graceful restart time {time}"));
        }
        for &family in &neighbor.families {
            channel(text, told.model, neighbor, family);
        }
        if let PeerAddress::Port { name, .. } = &neighbor.found
            && discovers(told, neighbor)
        {
            text.part("neighbors", |text| {
                text.say(format_args!("table 'found-{name}'"));
                text.say("export all");
            });
        }
    });
}

/// BFD and timers. Without a hold time there are no keepalives to time. After an error BIRD by itself neither dials nor listens
/// for a minute and more.
///
/// FRR offers long-lived graceful restart (RFC 9494) for every family, with no time to stay stale. BIRD by itself takes that for
/// the promise that a neighbour which falls silent comes back, and keeps its routes for the two minutes of FRR's restart.
pub(crate) fn timing(text: &mut BirdWriter, bfd: Option<Bfd>, (keepalive, hold): (u16, u16)) {
    text.say("connect delay time 1");
    text.say("connect retry time 3");
    text.say("error wait time 1, 5");
    text.say("error forget time 30");
    text.say("long lived graceful restart off");
    text.say(format_args!("hold time {hold}"));
    if hold > 0 && keepalive > 0 {
        text.say(format_args!("keepalive time {keepalive}"));
    }
    if let Some(Bfd { interval, multiplier }) = bfd {
        text.part("bfd", |text| {
            text.say(format_args!("interval {interval} ms"));
            text.say(format_args!("multiplier {multiplier}"));
        });
    }
}

/// Whether BIRD itself looks for the neighbour on a port: where it can, and the address is not known.
fn discovers(told: &BirdInputs<'_>, neighbor: &Neighbor) -> bool {
    told.release.discovers() && !neighbor.passive && !is_known(told, neighbor)
}

/// Whether BIRD dials a neighbour on a port: when it knows whom, unless the neighbour shall.
fn dials(told: &BirdInputs<'_>, neighbor: &Neighbor) -> bool {
    discovers(told, neighbor) || (is_known(told, neighbor) && !neighbor.passive)
}

fn is_known(told: &BirdInputs<'_>, neighbor: &Neighbor) -> bool {
    matches!(&neighbor.found, PeerAddress::Port { name, .. } if told.routers.contains_key(name.as_str()))
}

/// Who is on the other end, and who dials.
fn peer(text: &mut BirdWriter, told: &BirdInputs<'_>, neighbor: &Neighbor) {
    let own = told.model.asn;
    let asn = neighbor.asn.map_or_else(|| "external".to_owned(), |asn| format!("as {asn}"));
    match &neighbor.found {
        PeerAddress::Port { name, .. } => {
            text.say(format_args!("local as {own}"));
            // Only a neighbour that is named is marked as restarted (RFC 4724, section 3), so that a leaf keeps its routes.
            match told.routers.get(name.as_str()) {
                Some(address) => {
                    text.say(format_args!("neighbor {address}%{name} {asn}"));
                    text.say("direct");
                }
                None => on_port(text, name, &asn),
            }
            if !dials(told, neighbor) {
                text.say("passive on");
            }
        }
        PeerAddress::Address { address, source } => {
            match source {
                Some(source) => text.say(format_args!("local {source} as {own}")),
                None => text.say(format_args!("local as {own}")),
            }
            text.say(format_args!("neighbor {address} {asn}"));
            text.say("direct");
            if neighbor.passive {
                text.say("passive on");
            }
        }
    }
}

/// A neighbour on a port has an address that nobody knows beforehand.
fn on_port(text: &mut BirdWriter, port: &LinkName, asn: impl Display) {
    text.say(format_args!("neighbor range fe80::/10 {asn}"));
    // By itself BIRD takes a neighbour of its own AS for one across other routers, which it binds to no port.
    text.say("direct");
    text.say(format_args!("interface \"{port}\""));
    text.say(format_args!("dynamic name \"fabric-{port}-\""));
}

fn channel(text: &mut BirdWriter, model: &BgpModel, neighbor: &Neighbor, family: Family) {
    let (channel, suffix) = words(family);
    text.part(channel, |text| {
        text.say(format_args!("import filter fabric_in_{suffix}"));
        if let Some(most) = model.fabric.inward.max_prefixes {
            text.say(format_args!("import limit {most} action disable"));
        }
        text.say("export filter fabric_out");
        text.say("next hop self on");
        if family == Family::V4 && neighbor.extends_next_hops() {
            text.say("extended next hop on");
        }
    });
}
