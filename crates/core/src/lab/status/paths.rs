//! The routers' number of paths to each prefix.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::{InstalledRoute, MachineReport, PrefixStatus};
use crate::lab::topology::{LabMachine, LabTopology, LabVm, MachineRole};
use ichor_bgp::agent::route::MAIN;

/// The prefixes of routers' routes, and all prefixes that speakers announce.
pub(super) fn prefix_statuses(topology: &LabTopology, reports: &[MachineReport]) -> Vec<PrefixStatus> {
    let mut found: BTreeMap<IpNet, BTreeMap<String, usize>> = BTreeMap::new();
    for machine in &topology.machines {
        if let MachineRole::Node { speaker: Some(speaker), .. } = &machine.part {
            found.extend(speaker.announces.iter().map(|net| (net.trunc(), BTreeMap::new())));
        }
    }
    for (machine, report) in topology.machines.iter().zip(reports) {
        let Some(table) = session_table(machine) else { continue };
        for InstalledRoute { prefix, paths, .. } in report.routes.iter().filter(|route| route.table == table)
        {
            found.entry(*prefix).or_default().insert(machine.name.clone(), *paths);
        }
    }
    let owners = find_owners(topology);
    let owners_of =
        |prefix: &IpNet| owners.get(prefix).into_iter().flatten().map(|it| (*it).to_owned()).collect();
    found.into_iter().map(|(prefix, paths)| PrefixStatus { prefix, of: owners_of(&prefix), paths }).collect()
}

/// The routing table of a router's sessions; none for other machines.
fn session_table(machine: &LabMachine) -> Option<u32> {
    match &machine.part {
        MachineRole::Router { vrf: Some(vrf), .. } => {
            machine.vrfs.iter().find(|(name, _)| name == vrf).map(|(_, table)| *table)
        }
        MachineRole::Router { vrf: None, .. } => Some(MAIN),
        MachineRole::Node { .. } | MachineRole::Guest(_) | MachineRole::Outside { .. } => None,
    }
}

/// The machines that have each address: on a port, as a loopback, or announced by their speaker.
fn find_owners(topology: &LabTopology) -> BTreeMap<IpNet, BTreeSet<&str>> {
    let mut owners: BTreeMap<IpNet, BTreeSet<&str>> = BTreeMap::new();
    for machine in &topology.machines {
        let ports = machine.ports.iter().flat_map(|port| &port.addresses);
        let own = machine.addresses.iter().map(|(_, net)| net).chain(ports);
        let mut nets: Vec<IpNet> = own.flat_map(|net| [net.trunc(), host(net.addr())]).collect();
        if let MachineRole::Node { speaker, .. } = &machine.part {
            nets.extend(speaker.iter().flat_map(|speaker| &speaker.announces).map(IpNet::trunc));
        }
        if let MachineRole::Node { sources, .. } | MachineRole::Guest(LabVm { sources, .. }) = &machine.part {
            nets.extend(sources.iter().copied().map(host));
        }
        for net in nets {
            owners.entry(net).or_default().insert(&machine.name);
        }
    }
    owners
}

fn host(address: IpAddr) -> IpNet {
    IpNet::from(address)
}
