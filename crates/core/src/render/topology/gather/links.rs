//! Connections of nodes: sessions, cables without a session, else the shared network.

use std::net::IpAddr;

use super::hubs::{Hubs, SharedNetwork};
use crate::cluster::section::Addressing;
use crate::plan::cable::Cables;
use crate::plan::derive::Derivation;
use crate::plan::{NeighborAddress, NeighborPlan, NodePlan, Origin, Plan};
use crate::render::topology::diagram::WireKind;

/// A connection of a node to a hub, which becomes a wire.
#[derive(Clone, Debug)]
pub struct HubLink<'a> {
    pub(crate) hub: usize,
    pub kind: WireKind,
    pub port: &'a str,
    pub(crate) neighbor: Option<&'a NeighborPlan>,
}

impl<'a> Hubs<'a> {
    /// Collects the connections of a node, and adds its hubs.
    pub fn links(
        &mut self,
        plan: &Plan,
        nth: usize,
        node: &'a NodePlan,
        cables: &Cables<'a>,
    ) -> Vec<HubLink<'a>> {
        let neighbors = node.routing.as_ref().map(|routing| routing.neighbors.as_slice()).unwrap_or_default();
        let mut links: Vec<_> = neighbors.iter().map(|neighbor| self.session(node, neighbor)).collect();
        for (port, far) in cables.node_cables(nth) {
            if let Some(hub) = self.router(far.0)
                && !links.iter().any(|link| link.hub == hub)
            {
                links.push(HubLink { hub, kind: WireKind::Cable, port, neighbor: None });
            }
        }
        if let Some(tailscale) = &node.tailscale {
            let hub = self.overlay(tailscale, overlay_prefix(plan));
            links.push(HubLink { hub, kind: WireKind::Tunnel, port: "tailscale0", neighbor: None });
        }
        if links.is_empty() {
            let hub = self.network(network(plan, node));
            links.push(HubLink {
                hub,
                kind: WireKind::Attached,
                port: node.link.value.as_str(),
                neighbor: None,
            });
        }
        links
    }

    fn session(&mut self, node: &'a NodePlan, neighbor: &'a NeighborPlan) -> HubLink<'a> {
        let hub = self.neighbor(neighbor);
        let (kind, port) = match &neighbor.peer {
            NeighborAddress::Link(link) => (WireKind::Unnumbered, link.as_str()),
            NeighborAddress::Address(address) if is_connected(node, *address) => {
                (WireKind::Numbered, node.link.value.as_str())
            }
            NeighborAddress::Address(_) => (WireKind::Numbered, "routed"),
        };
        HubLink { hub, kind, port, neighbor: Some(neighbor) }
    }
}

fn is_connected(node: &NodePlan, address: IpAddr) -> bool {
    node.address.iter().any(|(net, _)| net.contains(&address))
}

fn overlay_prefix(plan: &Plan) -> Option<String> {
    let subnets = &plan.cluster.kubelet_subnets;
    let derived = matches!(subnets.origin, Origin::Derived(Derivation::OverlayPrefix, _));
    derived.then(|| subnets.value.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

/// The network of a node; with DHCP the one written for the cluster.
fn network(plan: &Plan, node: &NodePlan) -> SharedNetwork {
    let dhcp = node.addressing.value == Addressing::Dhcp;
    let prefixes = if dhcp { &plan.cluster.node } else { &node.address };
    let written = |origin: &Origin| !dhcp || matches!(origin, Origin::Written(_));
    let v4 = prefixes.v4.as_ref().filter(|v4| v4.value.prefix_len() < 32 && written(&v4.origin));
    let v6 = prefixes.v6.as_ref().filter(|v6| v6.value.prefix_len() < 128 && written(&v6.origin));
    let gateway4 = node.gateway.v4.as_ref().map(|gateway| IpAddr::V4(gateway.value));
    let gateway6 = node.gateway.v6.as_ref().map(|gateway| IpAddr::V6(gateway.value));
    SharedNetwork {
        v4: v4.map(|v4| v4.value.trunc()),
        v6: v6.map(|v6| v6.value.trunc()),
        gateway: [gateway4, gateway6],
        dhcp,
    }
}
