//! Routers: all run the installed release of FRR.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::{Deviations, TopologyInputs, port_of};
use crate::lab::topology::{LabMachine, MachineRole};
use crate::prove::summarize_names;
use crate::render::artifact::Artifact;
use crate::routing::network::{BgpSession, TopologyEnd};
use crate::routing::{BgpTopology, FabricRouter};
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::setting::Software;
use ichor_values::Asn;
use ichor_values::Backend;

/// The table of the VRF of a router's sessions.
const TABLE: u32 = 1000;

/// The base of AS numbers for routers whose number is unknown.
const UNKNOWN_ASN: u32 = 4_200_900_000;

/// The fabric with FRR on every router.
pub(super) fn replace_routers(inputs: TopologyInputs<'_>, deviations: &mut Deviations) -> BgpTopology {
    let mut network = inputs.subject.network.clone();
    let mut others: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let names: Vec<String> = network.routers.iter().map(|router| router.name.clone()).collect();
    for (nth, router) in network.routers.iter_mut().enumerate() {
        if !router.listed {
            let name = unused_name(inputs, &names, nth);
            deviations.add(format!("FRR replaces {}, which the file does not list, as {name}", router.name));
            router.name = name;
        } else if let Some(software) = other_software(inputs, router) {
            others.entry(software).or_default().push(router.name.clone());
        }
        router.listed = true;
        router.software = Software::Frr;
        router.version.clone_from(&inputs.here.frr);
        if router.asn.is_none() {
            let asn = UNKNOWN_ASN + u32::try_from(nth).unwrap_or_default();
            deviations.add(format!("the AS number of {} is unknown: it is {asn} in the lab", router.name));
            router.asn = Some(Asn(asn));
        }
        accept_dhcp_nodes(inputs, router, deviations);
    }
    if !inputs.guests {
        remove_gobgp_4_features(inputs, &mut network, deviations);
    }
    if let Some(times) = inputs.here.scale_bfd(&mut network) {
        deviations.add(format!(
            "BFD intervals are {times} times as long at both ends, because the processor is emulated"
        ));
    }
    let here = inputs.here.frr.as_ref().map_or_else(|| "FRR".to_owned(), |frr| format!("FRR {frr}"));
    for (software, routers) in others {
        let routers = summarize_names(routers.iter().map(String::as_str));
        deviations.add(format!("{here} runs instead of {software} on {routers}"));
    }
    network
}

/// Removes BFD, and routes of unnumbered sessions, where the installed GoBGP is older than release 4, which added them.
fn remove_gobgp_4_features(
    inputs: TopologyInputs<'_>,
    network: &mut BgpTopology,
    deviations: &mut Deviations,
) {
    let Some(gobgp) = inputs.here.gobgp.as_ref().filter(|gobgp| gobgp.minor().0 < 4) else { return };
    for BgpSession(one, other) in network.sessions.clone() {
        let (TopologyEnd::Node(node, neighbor), TopologyEnd::Router(router, peer)) = (one, other) else {
            continue;
        };
        let routing = inputs.plan.nodes[network.nodes[node].nth].routing.as_deref();
        let backend = routing.map(|routing| routing.backend.value);
        if !matches!(backend, Some(Backend::Gobgp | Backend::Native)) {
            continue;
        }
        let session = &mut network.nodes[node].fabric.neighbors[neighbor];
        if port_of(&session.found).is_some() {
            session.families.clear();
            deviations.add(format!(
                "no routes over unnumbered sessions: GoBGP supports them from release 4 on, not {gobgp}"
            ));
        }
        let ours = session.bfd.take();
        let theirs = network.routers[router].peers[peer].session.bfd.take();
        if ours.or(theirs).is_some() {
            deviations.add(format!("no BFD with the nodes: GoBGP {gobgp} does not support it"));
        }
    }
}

/// The software of a router if the lab runs another.
fn other_software(inputs: TopologyInputs<'_>, router: &FabricRouter) -> Option<String> {
    match (router.software, &router.version) {
        (Software::Frr, None) => None,
        (Software::Frr, version) if *version == inputs.here.frr => None,
        (Software::Frr, Some(version)) => Some(format!("FRR {version}")),
        (Software::Routeros, _) => Some("RouterOS".to_owned()),
        (Software::Other, _) => Some("other software".to_owned()),
    }
}

/// A name for a router that the file does not list.
fn unused_name(inputs: TopologyInputs<'_>, names: &[String], nth: usize) -> String {
    let taken = |name: &String| names.contains(name) || inputs.plan.node(name).is_some();
    (nth + 1..usize::MAX)
        .map(|number| format!("router{number}"))
        .find(|name| !taken(name))
        .expect("numbers do not end")
}

/// Lets a router accept nodes with DHCP addresses by a listen range.
fn accept_dhcp_nodes(inputs: TopologyInputs<'_>, router: &mut FabricRouter, deviations: &mut Deviations) {
    let unknown = |found: &PeerAddress| matches!(found, PeerAddress::Address { address, source } if *source == Some(*address));
    let contacted =
        router.peers.iter().find(|peer| unknown(&peer.session.found)).map(|peer| &peer.session.found);
    let Some(PeerAddress::Address { address, .. }) = contacted.filter(|_| router.listen.is_none()) else {
        return;
    };
    let range = with_prefix_length(inputs, IpNet::from(*address)).trunc();
    deviations
        .add(format!("{} accepts nodes from {range}, because their addresses are from DHCP", router.name));
    router.listen = Some(range);
}

/// An address with the prefix length of its network.
pub(super) fn with_prefix_length(inputs: TopologyInputs<'_>, net: IpNet) -> IpNet {
    let addresses = inputs.plan.nodes.iter().flat_map(|node| node.address.iter());
    let known = addresses.chain(inputs.plan.cluster.node.iter()).map(|(net, _)| net);
    let length = known.filter(|known| known.contains(&net)).map(|known| known.prefix_len()).max();
    let length = length.unwrap_or(if net.addr().is_ipv4() { 24 } else { 64 });
    IpNet::new(net.addr(), length).expect("the length of a network of the same family")
}

/// The machines of routers, with their rendered files.
pub(super) fn build_machines(network: &BgpTopology, files: &[Artifact]) -> Vec<LabMachine> {
    let file = |router: &FabricRouter, name: &str| {
        let path = format!("fabric/{}/{name}", router.name);
        files.iter().find(|file| file.path == path).and_then(Artifact::text).unwrap_or_default().to_owned()
    };
    let machine = |router: &FabricRouter| LabMachine {
        name: router.name.clone(),
        part: MachineRole::Router {
            conf: file(router, "frr.conf"),
            daemons: file(router, "daemons"),
            vrf: router.vrf.clone(),
        },
        vrfs: router.vrf.iter().map(|vrf| (vrf.clone(), TABLE)).collect(),
        dummies: Vec::new(),
        addresses: Vec::new(),
        ports: Vec::new(),
        gateways: Vec::new(),
    };
    network.routers.iter().map(machine).collect()
}
