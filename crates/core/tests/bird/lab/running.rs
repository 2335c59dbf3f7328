//! A running BIRD: each session with its neighbour, families, filters and limit.

use std::collections::{BTreeMap, BTreeSet};

use ichor_bgp::model::fabric::{Neighbor, PeerAddress};
use ichor_bgp::model::{BgpModel, Family, RoutingDomain, Workload};

use super::bird::{Bird, NodeFile, node_files, protocols, start};
use ichor_testbed::lab::LabMachine;

/// The parts of a node that BIRD uses: its ports and links, by name.
fn surroundings(machine: &LabMachine, node_file: &NodeFile) {
    let quoted = |line: &str| line.split('"').nth(1).map(str::to_owned);
    let named = node_file.conf.lines().filter(|line| {
        let line = line.trim_start();
        line.starts_with("interface ") || line.starts_with("vrf \"")
    });
    let links: BTreeSet<_> = named.filter_map(quoted).filter(|link| link != "lo").collect();
    for (nth, link) in links.iter().enumerate() {
        machine.ask(&format!("ip link add {link} type veth peer name far{nth} && ip link set {link} up"));
    }
}

/// The lines of each channel about its filters.
fn channel(family: Family, filters: [&str; 2], limit: Option<u32>) -> Vec<String> {
    let name = if family == Family::V4 { "ipv4" } else { "ipv6" };
    let mut lines = vec![format!("Channel {name}")];
    lines.push(format!("Input filter: {}", filters[0]));
    lines.push(format!("Output filter: {}", filters[1]));
    // It stores the number unsigned and prints it signed.
    let printed = |most: u32| [format!("Import limit: {}", most.cast_signed()), "Action: disable".to_owned()];
    lines.extend(limit.into_iter().flat_map(printed));
    lines
}

fn session(model: &BgpModel, neighbor: &Neighbor) -> (String, Vec<String>) {
    let asn = neighbor.asn.map_or(0, |asn| asn.0);
    let (name, far) = match &neighbor.found {
        PeerAddress::Port { name, .. } => (name.to_string(), "Neighbor range: fe80::/10".to_owned()),
        PeerAddress::Address { address, .. } => (address.to_string(), format!("Neighbor address: {address}")),
    };
    let mut lines = vec![far, format!("Neighbor AS: {asn}"), format!("Local AS: {}", model.asn)];
    for &family in &neighbor.families {
        let filter = if family == Family::V4 { "fabric_in_v4" } else { "fabric_in_v6" };
        lines.extend(channel(family, [filter, "fabric_out"], model.fabric.inward.max_prefixes));
    }
    (format!("fabric-{name}"), lines)
}

fn speaker(workload: &Workload) -> (String, Vec<String>) {
    let far = match workload.domain {
        RoutingDomain::Shared => format!("Neighbor range: {}", link(workload)),
        _ => format!("Neighbor address: {}", workload.theirs.address),
    };
    let mut lines = vec![far];
    lines.push(format!("Neighbor AS: {}", workload.theirs.asn));
    lines.push(format!("Local AS: {}", workload.ours.asn));
    for &family in &workload.families {
        let filter = if family == Family::V4 { "load_balancer_in_v4" } else { "load_balancer_in_v6" };
        lines.extend(channel(family, [filter, "REJECT"], None));
    }
    ("load_balancer".to_owned(), lines)
}

fn link(workload: &Workload) -> ipnet::IpNet {
    ipnet::IpNet::new(workload.ours.address, workload.prefix).unwrap().trunc()
}

/// The intended state by protocol.
fn intended_state(model: &BgpModel) -> BTreeMap<String, Vec<String>> {
    let fabric = model.fabric.neighbors.iter().map(|neighbor| session(model, neighbor));
    fabric.chain(model.workload.as_ref().map(speaker)).collect()
}

/// The lines that `meant` covers.
fn said_of(lines: &[String]) -> Vec<String> {
    let heads =
        ["Neighbor range:", "Neighbor address:", "Neighbor AS:", "Local AS:", "Channel ", "Input filter:"];
    let more = ["Output filter:", "Import limit:", "Action:"];
    let known = |line: &&String| heads.iter().chain(&more).any(|head| line.starts_with(head));
    lines.iter().filter(known).cloned().collect()
}

/// Every protocol that is not a session, with whether it runs.
fn others(protocols: &BTreeMap<String, Vec<String>>) -> Vec<(&str, bool)> {
    let others = protocols.iter().filter(|(_, lines)| lines[0].split(' ').nth(1) != Some("BGP"));
    others.map(|(name, lines)| (name.as_str(), lines[0].split(' ').nth(3) == Some("up"))).collect()
}

/// A running BIRD has every session of a node as intended, and all other protocols run.
pub fn is_run_by(bird: Bird, node_file: &NodeFile) {
    let machine = bird.machine();
    surroundings(&machine, node_file);
    start(&machine, &node_file.conf);

    let protocols = protocols(&machine);

    let name = &node_file.name;
    for (session, intended) in intended_state(&node_file.model) {
        let output = protocols.get(&session).unwrap_or_else(|| panic!("{name}: no {session}"));
        assert_eq!(said_of(output), intended, "{bird:?} {name} {session}");
    }
    let others = others(&protocols);
    assert!(others.iter().all(|(_, up)| *up), "{bird:?} {name}: {others:?}");
    let written = node_file.conf.lines().filter(|line| line.starts_with("protocol ")).count();
    assert_eq!(protocols.len(), written, "{bird:?} {name}: {:?}", protocols.keys());
}

fn every_session_is_run_by(bird: Bird) {
    for node_file in node_files(bird) {
        is_run_by(bird, &node_file);
    }
}

#[test]
fn bird_2_0_runs_every_session() {
    every_session_is_run_by(Bird::V2_0);
}

#[test]
fn bird_2_17_runs_every_session() {
    every_session_is_run_by(Bird::V2_17);
}
