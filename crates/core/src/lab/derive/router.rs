//! Routers: all of them are FRR, of the release that is installed.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::{Deviations, TopologyInputs, port_of};
use crate::lab::scene::{LabMachine, MachineRole};
use crate::prove::crowd;
use crate::render::artifact::Artifact;
use crate::routing::network::{BgpSession, TopologyEnd};
use crate::routing::{BgpTopology, FabricRouter};
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::setting::Software;
use ichor_values::Asn;
use ichor_values::Backend;

/// The table of the VRF of a router's sessions.
const TABLE: u32 = 1000;

/// The AS number of a router of which nobody knows one, less its number.
const UNKNOWN_ASN: u32 = 4_200_900_000;

/// The fabric with FRR on every router.
pub(super) fn standing_in(order: TopologyInputs<'_>, differs: &mut Deviations) -> BgpTopology {
    let mut network = order.subject.network.clone();
    let mut others: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let names: Vec<String> = network.routers.iter().map(|router| router.name.clone()).collect();
    for (nth, router) in network.routers.iter_mut().enumerate() {
        if !router.listed {
            let name = free_name(order, &names, nth);
            differs
                .add(format!("FRR stands in for {}, which the file does not list, as {name}", router.name));
            router.name = name;
        } else if let Some(meant) = meant(order, router) {
            others.entry(meant).or_default().push(router.name.clone());
        }
        router.listed = true;
        router.software = Software::Frr;
        router.version.clone_from(&order.here.frr);
        if router.asn.is_none() {
            let asn = UNKNOWN_ASN + u32::try_from(nth).unwrap_or_default();
            differs.add(format!("nobody knows the AS number of {}: it is {asn} here", router.name));
            router.asn = Some(Asn(asn));
        }
        accept_unknown(order, router, differs);
    }
    if !order.guests {
        without_gobgp_4(order, &mut network, differs);
    }
    if let Some(times) = order.here.fit_bfd(&mut network) {
        differs.add(format!("BFD waits {times} times as long, at both ends: the processor is emulated"));
    }
    let here = order.here.frr.as_ref().map_or_else(|| "FRR".to_owned(), |frr| format!("FRR {frr}"));
    for (meant, who) in others {
        let who = crowd(who.iter().map(String::as_str));
        differs.add(format!("{here} runs in the place of {meant} on {who}"));
    }
    network
}

/// Takes off what GoBGP learned with its release 4, where nodes have an older one: BFD, and routes over sessions on ports.
fn without_gobgp_4(order: TopologyInputs<'_>, network: &mut BgpTopology, differs: &mut Deviations) {
    let Some(gobgp) = order.here.gobgp.as_ref().filter(|gobgp| gobgp.minor().0 < 4) else { return };
    for BgpSession(one, other) in network.sessions.clone() {
        let (TopologyEnd::Node(node, neighbor), TopologyEnd::Router(router, peer)) = (one, other) else {
            continue;
        };
        let routing = order.plan.nodes[network.nodes[node].nth].routing.as_deref();
        let backend = routing.map(|routing| routing.backend.value);
        if !matches!(backend, Some(Backend::Gobgp | Backend::Native)) {
            continue;
        }
        let session = &mut network.nodes[node].fabric.neighbors[neighbor];
        if port_of(&session.found).is_some() {
            session.families.clear();
            differs.add(format!(
                "no routes over sessions on ports: GoBGP {gobgp} cannot, and its release 4 can"
            ));
        }
        let ours = session.bfd.take();
        let theirs = network.routers[router].peers[peer].session.bfd.take();
        if ours.or(theirs).is_some() {
            differs.add(format!("no BFD with the nodes: GoBGP {gobgp} has none"));
        }
    }
}

/// What a router runs, where that is not what runs here.
fn meant(order: TopologyInputs<'_>, router: &FabricRouter) -> Option<String> {
    match (router.software, &router.version) {
        (Software::Frr, None) => None,
        (Software::Frr, version) if *version == order.here.frr => None,
        (Software::Frr, Some(version)) => Some(format!("FRR {version}")),
        (Software::Routeros, _) => Some("RouterOS".to_owned()),
        (Software::Other, _) => Some("other software".to_owned()),
    }
}

/// A name for a router that only nodes know.
fn free_name(order: TopologyInputs<'_>, names: &[String], nth: usize) -> String {
    let taken = |name: &String| names.contains(name) || order.plan.node(name).is_some();
    (nth + 1..usize::MAX)
        .map(|number| format!("router{number}"))
        .find(|name| !taken(name))
        .expect("numbers do not end")
}

/// Takes nodes whose addresses nobody knows beforehand from their network.
fn accept_unknown(order: TopologyInputs<'_>, router: &mut FabricRouter, differs: &mut Deviations) {
    let unknown = |found: &PeerAddress| matches!(found, PeerAddress::Address { address, source } if *source == Some(*address));
    let dialled =
        router.peers.iter().find(|peer| unknown(&peer.session.found)).map(|peer| &peer.session.found);
    let Some(PeerAddress::Address { address, .. }) = dialled.filter(|_| router.listen.is_none()) else {
        return;
    };
    let range = around(order, IpNet::from(*address)).trunc();
    differs.add(format!("{} takes nodes from {range}: DHCP gives them their addresses", router.name));
    router.listen = Some(range);
}

/// An address with the length of the network it is in.
pub(super) fn around(order: TopologyInputs<'_>, net: IpNet) -> IpNet {
    let addresses = order.plan.nodes.iter().flat_map(|node| node.address.iter());
    let known = addresses.chain(order.plan.cluster.node.iter()).map(|(net, _)| net);
    let length = known.filter(|known| known.contains(&net)).map(|known| known.prefix_len()).max();
    let length = length.unwrap_or(if net.addr().is_ipv4() { 24 } else { 64 });
    IpNet::new(net.addr(), length).expect("the length of a network of the same family")
}

/// The machines of routers, with the files that were rendered for them.
pub(super) fn machines(network: &BgpTopology, files: &[Artifact]) -> Vec<LabMachine> {
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
