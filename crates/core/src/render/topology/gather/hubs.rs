//! Hubs: the routers in the file, other neighbours, shared networks and overlays.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::facts::{network_hub, overlay_hub, router_hub};
use crate::plan::{NeighborAddress, NeighborPlan, Plan, TailscalePlan};
use crate::render::topology::diagram::{Fact, Hub, HubKind};
use ichor_bgp::setting::RouterRole;
use ichor_values::Asn;

/// Identity of a hub.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HubKey<'a> {
    Router(&'a str),
    Address(IpAddr, Option<u32>),
    Link(&'a str, Option<u32>),
    Network(SharedNetwork),
    Overlay(Option<&'a str>),
}

/// A network that nodes share.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedNetwork {
    pub v4: Option<ipnet::Ipv4Net>,
    pub v6: Option<ipnet::Ipv6Net>,
    pub gateway: [Option<IpAddr>; 2],
    pub dhcp: bool,
}

/// The collected hubs.
pub(crate) struct Hubs<'a> {
    known: BTreeMap<HubKey<'a>, usize>,
    /// Routers by address, for neighbours with only an address.
    addresses: BTreeMap<IpAddr, usize>,
    /// With their AS numbers.
    pub found: Vec<(Hub, Option<u32>)>,
}

impl<'a> Hubs<'a> {
    /// Collects the routers in the file.
    pub fn from_routers(plan: &'a Plan) -> Self {
        let mut hubs = Self { known: BTreeMap::new(), addresses: BTreeMap::new(), found: Vec::new() };
        for router in &plan.routers {
            let name = router.name.as_ref().map_or("", |name| name.as_str());
            let asn = router.asn.as_ref().map(|asn| asn.value.0);
            let hub = hubs.insert(HubKey::Router(name), || (router_hub(router), asn));
            hubs.addresses.extend(router.addresses.iter().map(|address| (address.value, hub)));
        }
        hubs
    }

    fn insert(&mut self, key: HubKey<'a>, make: impl FnOnce() -> (Hub, Option<u32>)) -> usize {
        *self.known.entry(key).or_insert_with(|| {
            self.found.push(make());
            self.found.len() - 1
        })
    }

    /// The router of this name.
    pub fn router(&self, name: &str) -> Option<usize> {
        self.known.get(&HubKey::Router(name)).copied()
    }

    /// The hub of a session's remote end.
    pub(crate) fn neighbor(&mut self, neighbor: &'a NeighborPlan) -> usize {
        if let Some(known) = neighbor.router.as_ref().and_then(|name| self.router(name.as_str())) {
            return known;
        }
        let asn = neighbor.asn().map(|Asn(asn)| asn);
        let facts =
            vec![Fact::new("AS", asn.map_or_else(|| "any external".to_owned(), |asn| asn.to_string()))];
        let make = |name: String| (Hub { kind: HubKind::Neighbor, name, facts, count: 1 }, asn);
        match &neighbor.peer {
            NeighborAddress::Address(address) => match self.addresses.get(address) {
                Some(router) => *router,
                None => self.insert(HubKey::Address(*address, asn), || make(address.to_string())),
            },
            NeighborAddress::Link(link) => {
                self.insert(HubKey::Link(link.as_str(), asn), || make(format!("on {}", link.as_str())))
            }
        }
    }

    pub fn network(&mut self, network: SharedNetwork) -> usize {
        self.insert(HubKey::Network(network), || (network_hub(&network), None))
    }

    pub fn overlay(&mut self, tailscale: &'a TailscalePlan, prefix: Option<String>) -> usize {
        let server = tailscale.server.as_ref().map(|server| server.value.as_str());
        self.insert(HubKey::Overlay(server), || (overlay_hub(tailscale, prefix), None))
    }
}

/// The kind of hub of a router role.
pub fn kind(role: Option<RouterRole>) -> HubKind {
    match role.unwrap_or(RouterRole::Leaf) {
        RouterRole::Leaf => HubKind::Leaf,
        RouterRole::Spine => HubKind::Spine,
        RouterRole::Gateway => HubKind::Gateway,
    }
}
