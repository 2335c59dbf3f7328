//! Sessions with the fabric.

use std::net::IpAddr;

use super::Decided;
use crate::cluster::section::{Bfd, Neighbor, Router, Routing};
use crate::model::Cluster;
use ichor_bgp::setting::RouterRole;
use ichor_values::Location;
use ichor_values::key::{Key, Spanned};
use ichor_values::{Asn, LinkName, Pair, Secret, Toggle, Word};

/// One BGP session with the fabric.
#[derive(Clone, Debug)]
pub struct NeighborPlan {
    /// Its place in the file; for a session derived from the fabric, the place of the router.
    pub place: Location,
    /// The router of the fabric.
    pub router: Option<Word>,
    /// Its number among the routers of the fabric.
    pub(crate) router_nth: Option<usize>,
    /// How it is addressed.
    pub peer: NeighborAddress,
    /// Whether it accepts IPv4 routes over an IPv6 session; assumed if its software is unknown.
    pub(crate) extended_nexthop: bool,
    /// Its AS number; none to accept any external one.
    pub asn: Option<Decided<Asn>>,
    /// BFD.
    pub bfd: Option<BfdPlan>,
    /// Keepalive and hold time in seconds.
    pub timers: Decided<(u16, u16)>,
    /// Whether to wait for the neighbour to connect.
    pub passive: Decided<bool>,
    /// Reference to the session's password.
    pub password: Option<Decided<Secret>>,
}

impl NeighborPlan {
    /// Its AS number; none to accept any external one.
    pub fn asn(&self) -> Option<Asn> {
        self.asn.as_ref().map(|asn| asn.value)
    }
}

/// How a neighbour is addressed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeighborAddress {
    /// Unnumbered: by its router advertisements on a link.
    Link(LinkName),
    /// By its address.
    Address(IpAddr),
}

/// BFD timers.
#[derive(Clone, Debug)]
pub struct BfdPlan {
    /// Interval between two packets in milliseconds.
    pub interval: Decided<u32>,
    /// Number of lost packets after which the session is down.
    pub multiplier: Decided<u8>,
}

impl BfdPlan {
    /// The written timers, with defaults for missing ones.
    pub(super) fn from_section(bfd: &Bfd) -> Self {
        let Bfd { interval, multiplier } = bfd;
        Self {
            interval: Decided::from_key_or(interval, 300, "the daemons' default"),
            multiplier: Decided::from_key_or(multiplier, 3, "the daemons' default"),
        }
    }

    /// BFD as written, else with default timers if `default` is set.
    pub(super) fn decide(key: &Key<Toggle<Bfd>>, default: bool) -> Option<Self> {
        match key.get() {
            Some(toggle) => toggle.settings().map(Self::from_section),
            None => default.then(|| Self::from_section(&Bfd::default())),
        }
    }
}

/// The sessions of a node: as written, else derived from the fabric.
pub fn plan(cluster: &Cluster, routing: &Routing, ports: &[LinkName]) -> Vec<NeighborPlan> {
    match routing.neighbors.get() {
        Some(list) => list.0.iter().filter_map(|neighbor| from_written(cluster, neighbor)).collect(),
        None => from_fabric(cluster, ports),
    }
}

fn timers(key: &Key<Pair<u16>>) -> Decided<(u16, u16)> {
    match key.at() {
        Some(at) => Decided::written((at.value.0.value, at.value.1.value), at.place),
        None => Decided::default((3, 9), "a failed neighbour is detected within seconds"),
    }
}

fn passive(key: &Key<bool>) -> Decided<bool> {
    Decided::from_key_or(key, false, "either end may connect first")
}

fn from_written(cluster: &Cluster, at: &Spanned<Neighbor>) -> Option<NeighborPlan> {
    let neighbor = &at.value;
    let found = find_router(cluster, neighbor);
    let router = found.map(|(_, router)| router);
    let peer = match (neighbor.address.get(), neighbor.link.get()) {
        (Some(address), _) => NeighborAddress::Address(*address),
        (None, Some(link)) => NeighborAddress::Link(link.clone()),
        (None, None) => NeighborAddress::Address(router?.addresses.get()?.values().next().copied()?),
    };
    let unnumbered = matches!(peer, NeighborAddress::Link(_));
    let bfd = unnumbered && router.is_none_or(|router| router.bfd.get() != Some(&Toggle::Off));
    Some(NeighborPlan {
        place: at.place,
        router: router.and_then(|router| router.name.get().cloned()),
        router_nth: found.map(|(nth, _)| nth),
        peer,
        extended_nexthop: router.is_none_or(supports_extended_nexthop),
        asn: Decided::from_key(&neighbor.asn).or_else(|| Decided::from_key(&router?.asn)),
        bfd: BfdPlan::decide(&neighbor.bfd, bfd),
        timers: timers(&neighbor.timers),
        passive: passive(&neighbor.passive),
        password: Decided::from_key(&neighbor.password).or_else(|| Decided::from_key(&router?.password)),
    })
}

/// The router that a neighbour names, else the one with its address.
fn find_router<'c>(cluster: &'c Cluster, neighbor: &Neighbor) -> Option<(usize, &'c Router)> {
    let mut routers = cluster.routers().map(|router| &router.value).enumerate();
    match (neighbor.router.get(), neighbor.address.get()) {
        (Some(name), _) => routers.find(|(_, router)| router.name.get() == Some(name)),
        (None, Some(address)) => {
            routers.find(|(_, router)| router.addresses.values().any(|at| at == address))
        }
        (None, None) => None,
    }
}

fn supports_extended_nexthop(router: &Router) -> bool {
    router.supports_extended_nexthop().unwrap_or(true)
}

/// The sessions of a node without written neighbours: the n-th port to the n-th leaf, and every gateway by its address.
fn from_fabric(cluster: &Cluster, ports: &[LinkName]) -> Vec<NeighborPlan> {
    let of_role = |role| {
        cluster
            .routers()
            .enumerate()
            .filter(move |(_, router)| router.value.role.value().unwrap_or(RouterRole::Leaf) == role)
    };
    let leafs = of_role(RouterRole::Leaf).zip(ports).map(|((nth, router), port)| {
        let address = router.value.addresses.get().and_then(|list| list.values().next().copied());
        session_with_router(
            nth,
            router,
            address.map_or_else(|| NeighborAddress::Link(port.clone()), NeighborAddress::Address),
        )
    });
    let gateways = of_role(RouterRole::Gateway).filter_map(|(nth, router)| {
        let address = router.value.addresses.get()?.values().next().copied()?;
        Some(session_with_router(nth, router, NeighborAddress::Address(address)))
    });
    leafs.chain(gateways).collect()
}

/// The derived session with a router.
fn session_with_router(nth: usize, router: &Spanned<Router>, peer: NeighborAddress) -> NeighborPlan {
    let Spanned { value: router, place } = router;
    NeighborPlan {
        place: *place,
        router_nth: Some(nth),
        router: router.name.get().cloned(),
        bfd: BfdPlan::decide(&router.bfd, matches!(peer, NeighborAddress::Link(_))),
        peer,
        extended_nexthop: supports_extended_nexthop(router),
        asn: Decided::from_key(&router.asn),
        timers: timers(&Key::default()),
        passive: passive(&Key::default()),
        password: Decided::from_key(&router.password),
    }
}
