//! By how many paths routers reach what.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::{InstalledRoute, MachineReport, PrefixStatus};
use crate::lab::scene::{LabMachine, LabTopology, LabVm, MachineRole};
use ichor_bgp::agent::route::MAIN;

/// What routers have routes to; and what speakers announce, whether anybody heard it or not.
pub(super) fn prefixes(scene: &LabTopology, heard: &[MachineReport]) -> Vec<PrefixStatus> {
    let mut found: BTreeMap<IpNet, BTreeMap<String, usize>> = BTreeMap::new();
    for machine in &scene.machines {
        if let MachineRole::Node { speaker: Some(speaker), .. } = &machine.part {
            found.extend(speaker.announces.iter().map(|net| (net.trunc(), BTreeMap::new())));
        }
    }
    for (machine, heard) in scene.machines.iter().zip(heard) {
        let Some(table) = table(machine) else { continue };
        for InstalledRoute { prefix, paths, .. } in heard.routes.iter().filter(|route| route.table == table) {
            found.entry(*prefix).or_default().insert(machine.name.clone(), *paths);
        }
    }
    let owners = owners(scene);
    let of = |prefix: &IpNet| owners.get(prefix).into_iter().flatten().map(|it| (*it).to_owned()).collect();
    found.into_iter().map(|(prefix, paths)| PrefixStatus { prefix, of: of(&prefix), paths }).collect()
}

/// The table of a router's sessions; none for what is no router.
fn table(machine: &LabMachine) -> Option<u32> {
    match &machine.part {
        MachineRole::Router { vrf: Some(vrf), .. } => {
            machine.vrfs.iter().find(|(name, _)| name == vrf).map(|(_, table)| *table)
        }
        MachineRole::Router { vrf: None, .. } => Some(MAIN),
        MachineRole::Node { .. } | MachineRole::Guest(_) | MachineRole::Outside { .. } => None,
    }
}

/// Who has an address: by itself, as its loopback, or because its speaker announces it.
fn owners(scene: &LabTopology) -> BTreeMap<IpNet, BTreeSet<&str>> {
    let mut owners: BTreeMap<IpNet, BTreeSet<&str>> = BTreeMap::new();
    for machine in &scene.machines {
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
