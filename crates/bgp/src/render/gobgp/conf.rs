//! `gobgpd.toml`: the instance and its sessions.

use super::policy;
use super::toml::TomlWriter;
use crate::model::fabric::{Neighbor, PeerAddress};
use crate::model::{Bfd, BgpModel, Family, Workload};

/// Seconds between attempts to connect; gobgpd's default is 120.
const CONNECT_RETRY: u16 = 3;

/// Seconds before a session is retried after a reset; gobgpd's default is 30.
const IDLE_HOLD: u16 = 1;

/// Renders the file.
pub(crate) fn render(model: &BgpModel, passwords: &[Option<String>]) -> String {
    let mut toml = TomlWriter::default();
    head(&mut toml, model);
    policy::render(&mut toml, model);
    for (neighbor, password) in model.fabric.neighbors.iter().zip(passwords) {
        fabric(&mut toml, model, neighbor, password.as_deref());
    }
    if let Some(workload) = &model.workload {
        speaker(&mut toml, model, workload);
    }
    toml.text()
}

fn head(toml: &mut TomlWriter, model: &BgpModel) {
    toml.comment(format_args!("{}: written by ichor", model.name));
    for neighbor in &model.fabric.neighbors {
        if let PeerAddress::Port { name, mac: Some(mac) } = &neighbor.found {
            toml.comment(format_args!("{name} is the port with the MAC address {mac}"));
        }
    }
    toml.table("global.config").key("as", model.asn.0).key("router-id", model.router_id.to_string());
    toml.table("global.use-multiple-paths.config").key("enabled", true);
}

fn fabric(toml: &mut TomlWriter, model: &BgpModel, neighbor: &Neighbor, password: Option<&str>) {
    toml.next("neighbors").table("neighbors.config");
    match &neighbor.found {
        PeerAddress::Port { name, .. } => toml.key("neighbor-interface", name.as_str()),
        PeerAddress::Address { address, .. } => toml.key("neighbor-address", address.to_string()),
    };
    // Without an AS number, gobgpd accepts any.
    if let Some(asn) = neighbor.asn {
        toml.key("peer-as", asn.0);
    }
    if let Some(password) = password {
        toml.key("auth-password", password);
    }
    let source = match &neighbor.found {
        PeerAddress::Address { source: Some(source), .. } => Some(source.to_string()),
        _ => None,
    };
    if source.is_some() || neighbor.passive {
        toml.table("neighbors.transport.config");
    }
    if let Some(source) = source {
        toml.key("local-address", source);
    }
    if neighbor.passive {
        toml.key("passive-mode", true);
    }
    timing(toml, neighbor.timers, neighbor.bfd);
    let restart = model.fabric.graceful_restart;
    if let Some(time) = restart {
        // Limits the delay by a neighbour that does not come back: the first routes are sent after this time at the
        // latest.
        toml.table("neighbors.graceful-restart.config").key("enabled", true);
        toml.key("restart-time", time).key("deferral-time", time);
    }
    for &family in &neighbor.families {
        address_family(toml, family);
        if restart.is_some() {
            toml.table("neighbors.afi-safis.mp-graceful-restart.config").key("enabled", true);
        }
        if let Some(most) = model.fabric.inward.max_prefixes {
            toml.table("neighbors.afi-safis.prefix-limit.config").key("max-prefixes", most);
        }
    }
}

fn speaker(toml: &mut TomlWriter, model: &BgpModel, workload: &Workload) {
    toml.next("neighbors").table("neighbors.config");
    toml.key("neighbor-address", workload.theirs.address.to_string()).key("peer-as", workload.theirs.asn.0);
    if workload.ours.asn != model.asn {
        toml.key("local-as", workload.ours.asn.0);
    }
    toml.table("neighbors.transport.config");
    toml.key("local-address", workload.ours.address.to_string()).key("passive-mode", true);
    timing(toml, workload.timers, workload.bfd);
    for &family in &workload.families {
        address_family(toml, family);
    }
}

fn timing(toml: &mut TomlWriter, (keepalive, hold): (u16, u16), bfd: Option<Bfd>) {
    toml.table("neighbors.timers.config");
    toml.key("connect-retry", CONNECT_RETRY).key("idle-hold-time-after-reset", IDLE_HOLD);
    toml.key("hold-time", hold).key("keepalive-interval", keepalive);
    if let Some(bfd) = bfd {
        let microseconds = u64::from(bfd.interval) * 1000;
        toml.table("neighbors.bfd.config").key("enabled", true);
        toml.key("desired-minimum-tx-interval", microseconds).key("required-minimum-receive", microseconds);
        toml.key("detection-multiplier", bfd.multiplier);
    }
}

fn address_family(toml: &mut TomlWriter, family: Family) {
    let name = match family {
        Family::V4 => "ipv4-unicast",
        Family::V6 => "ipv6-unicast",
    };
    toml.next("neighbors.afi-safis").table("neighbors.afi-safis.config").key("afi-safi-name", name);
}
