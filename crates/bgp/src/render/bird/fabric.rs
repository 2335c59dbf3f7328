//! BGP with the fabric: sessions, and the discovery of neighbours on ports.

use std::fmt::Display;

use super::conf::{BirdInputs, words};
use super::filter;
use super::writer::BirdWriter;
use crate::model::fabric::{Neighbor, PeerAddress};
use crate::model::{Bfd, BgpModel, Family, RoutingDomain};
use ichor_values::LinkName;

/// BFD itself; its timers are in each session. The protocol of the fabric leaves sessions in a VRF to the other one,
/// whose socket alone receives their packets.
pub fn bfd(text: &mut BirdWriter, model: &BgpModel) {
    let vrf =
        model.workload.as_ref().filter(|workload| workload.bfd.is_some()).and_then(|it| match &it.domain {
            RoutingDomain::Vrf { name, .. } => Some(name),
            _ => None,
        });
    if model.fabric.neighbors.iter().any(|neighbor| neighbor.bfd.is_some()) {
        text.block("protocol bfd bfd_fabric", |text| {
            if vrf.is_some() {
                text.statement("vrf default");
            }
            text.statement("accept direct");
        });
    }
    if let Some(vrf) = vrf {
        text.block("protocol bfd bfd_load_balancer", |text| {
            text.statement(format_args!("vrf \"{vrf}\""));
            text.statement("accept direct");
        });
    }
}

/// Router advertisements, by which neighbours without addresses discover each other. They announce neither a default
/// route nor a prefix.
pub(crate) fn advertisements(text: &mut BirdWriter, inputs: &BirdInputs<'_>) {
    for neighbor in &inputs.model.fabric.neighbors {
        let PeerAddress::Port { name, .. } = &neighbor.found else { continue };
        let discovers = discovers(inputs, neighbor);
        if discovers {
            text.blank_line();
            text.statement(format_args!("neighbor table 'found-{name}'"));
        }
        text.block(format_args!("protocol radv 'discovery-{name}'"), |text| {
            if discovers {
                text.part("neighbors", |text| text.statement(format_args!("table 'found-{name}'")));
            }
            text.part(format_args!("interface \"{name}\""), |text| {
                text.statement("max ra interval 10");
                text.statement("default lifetime 0");
                text.part("prefix ::/0", |text| text.statement("skip"));
                if discovers {
                    text.statement("router discovery on");
                }
            });
        });
    }
}

/// The import filters.
pub fn import_filters(text: &mut BirdWriter, model: &BgpModel) {
    let inward = &model.fabric.inward;
    let preference = inward.local_preference.map(|number| format!("bgp_local_pref = {number}"));
    for family in Family::ALL {
        let (_, suffix) = words(family);
        filter::prefix_filter(
            text,
            &format!("fabric_in_{suffix}"),
            &inward.filter,
            family,
            preference.as_slice(),
        );
    }
}

/// One session.
pub fn session(text: &mut BirdWriter, inputs: &BirdInputs<'_>, neighbor: &Neighbor, password: Option<&str>) {
    let name = match &neighbor.found {
        PeerAddress::Port { name, .. } => name.to_string(),
        PeerAddress::Address { address, .. } => address.to_string(),
    };
    text.block(format_args!("protocol bgp 'fabric-{name}'"), |text| {
        peer(text, inputs, neighbor);
        if let Some(password) = password {
            if inputs.release.requires_authentication_method() {
                text.statement("authentication md5");
            }
            text.statement(format_args!("password \"{password}\""));
        }
        timing(text, neighbor.bfd, neighbor.timers);
        if let Some(time) = inputs.graceful_restart {
            text.statement("graceful restart on");
            text.statement(format_args!("graceful restart time {time}"));
        }
        for &family in &neighbor.families {
            channel(text, inputs.model, neighbor, family);
        }
        if let PeerAddress::Port { name, .. } = &neighbor.found
            && discovers(inputs, neighbor)
        {
            text.part("neighbors", |text| {
                text.statement(format_args!("table 'found-{name}'"));
                text.statement("export all");
            });
        }
    });
}

/// BFD and timers. Without a hold time there is no keepalive time. By default, BIRD neither connects nor listens for a
/// minute or more after an error.
///
/// FRR advertises long-lived graceful restart (RFC 9494) for every family, with a stale time of zero. By default, BIRD
/// concludes that a neighbour which becomes silent will come back, and keeps its routes for the two minutes of FRR's
/// restart time.
pub(crate) fn timing(text: &mut BirdWriter, bfd: Option<Bfd>, (keepalive, hold): (u16, u16)) {
    text.statement("connect delay time 1");
    text.statement("connect retry time 3");
    text.statement("error wait time 1, 5");
    text.statement("error forget time 30");
    text.statement("long lived graceful restart off");
    text.statement(format_args!("hold time {hold}"));
    if hold > 0 && keepalive > 0 {
        text.statement(format_args!("keepalive time {keepalive}"));
    }
    if let Some(Bfd { interval, multiplier }) = bfd {
        text.part("bfd", |text| {
            text.statement(format_args!("interval {interval} ms"));
            text.statement(format_args!("multiplier {multiplier}"));
        });
    }
}

/// Whether BIRD itself discovers the neighbour on a port: if the release can, and the address is unknown.
fn discovers(inputs: &BirdInputs<'_>, neighbor: &Neighbor) -> bool {
    inputs.release.discovers() && !neighbor.passive && !has_known_address(inputs, neighbor)
}

/// Whether BIRD connects to a neighbour on a port: if it has or discovers the address, unless the neighbour must
/// connect.
fn connects(inputs: &BirdInputs<'_>, neighbor: &Neighbor) -> bool {
    discovers(inputs, neighbor) || (has_known_address(inputs, neighbor) && !neighbor.passive)
}

fn has_known_address(inputs: &BirdInputs<'_>, neighbor: &Neighbor) -> bool {
    matches!(&neighbor.found, PeerAddress::Port { name, .. } if inputs.routers.contains_key(name.as_str()))
}

/// The neighbour's address, and which end connects.
fn peer(text: &mut BirdWriter, inputs: &BirdInputs<'_>, neighbor: &Neighbor) {
    let own = inputs.model.asn;
    let asn = neighbor.asn.map_or_else(|| "external".to_owned(), |asn| format!("as {asn}"));
    match &neighbor.found {
        PeerAddress::Port { name, .. } => {
            text.statement(format_args!("local as {own}"));
            // BIRD signals a restart (RFC 4724, section 3) only to a neighbour with a configured address; a leaf then
            // keeps its routes.
            match inputs.routers.get(name.as_str()) {
                Some(address) => {
                    text.statement(format_args!("neighbor {address}%{name} {asn}"));
                    text.statement("direct");
                }
                None => dynamic_peer(text, name, &asn),
            }
            if !connects(inputs, neighbor) {
                text.statement("passive on");
            }
        }
        PeerAddress::Address { address, source } => {
            match source {
                Some(source) => text.statement(format_args!("local {source} as {own}")),
                None => text.statement(format_args!("local as {own}")),
            }
            text.statement(format_args!("neighbor {address} {asn}"));
            text.statement("direct");
            if neighbor.passive {
                text.statement("passive on");
            }
        }
    }
}

/// A neighbour on a port, whose address is unknown beforehand.
fn dynamic_peer(text: &mut BirdWriter, port: &LinkName, asn: impl Display) {
    text.statement(format_args!("neighbor range fe80::/10 {asn}"));
    // By default, BIRD treats a neighbour of its own AS as multihop, and binds it to no port.
    text.statement("direct");
    text.statement(format_args!("interface \"{port}\""));
    text.statement(format_args!("dynamic name \"fabric-{port}-\""));
}

fn channel(text: &mut BirdWriter, model: &BgpModel, neighbor: &Neighbor, family: Family) {
    let (channel, suffix) = words(family);
    text.part(channel, |text| {
        text.statement(format_args!("import filter fabric_in_{suffix}"));
        if let Some(most) = model.fabric.inward.max_prefixes {
            text.statement(format_args!("import limit {most} action disable"));
        }
        text.statement("export filter fabric_out");
        text.statement("next hop self on");
        if family == Family::V4 && neighbor.extends_next_hops() {
            text.statement("extended next hop on");
        }
    });
}
