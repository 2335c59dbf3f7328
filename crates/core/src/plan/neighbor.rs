//! Sessions with the fabric.

use std::net::IpAddr;

use super::Decided;
use crate::cluster::section::{Bfd, Neighbor, Router, Routing};
use crate::model::Cluster;
use ichor_bgp::setting::RouterRole;
use ichor_values::Place;
use ichor_values::key::{At, Key};
use ichor_values::{Asn, LinkName, Pair, Secret, Toggle, Word};

/// One BGP session with the fabric.
#[derive(Clone, Debug)]
pub struct NeighborPlan {
    /// Where it stands in the file; for a session that follows from the fabric, where the router stands.
    pub place: Place,
    /// The router of the fabric.
    pub router: Option<Word>,
    /// Its number among the routers of the fabric.
    pub(crate) router_nth: Option<usize>,
    /// How it is found.
    pub peer: Peer,
    /// Whether it takes IPv4 routes over an IPv6 session; taken for granted where its software is unknown.
    pub(crate) extended_nexthop: bool,
    /// Its AS number; none when any external one will do.
    pub asn: Option<Decided<Asn>>,
    /// Fast detection of a dead path.
    pub bfd: Option<BfdPlan>,
    /// Keepalive and hold time in seconds.
    pub timers: Decided<(u16, u16)>,
    /// Whether the neighbour connects.
    pub passive: Decided<bool>,
    /// Where the session's password can be had, if it has one.
    pub password: Option<Decided<Secret>>,
}

impl NeighborPlan {
    /// Its AS number; none when any external one will do.
    pub fn asn(&self) -> Option<Asn> {
        self.asn.as_ref().map(|asn| asn.value)
    }
}

/// How a neighbour is found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// By its router advertisements on a link.
    Link(LinkName),
    /// By its address.
    Address(IpAddr),
}

/// Fast detection of a dead path.
#[derive(Clone, Debug)]
pub struct BfdPlan {
    /// Milliseconds between two packets.
    pub interval: Decided<u32>,
    /// How many may be lost.
    pub multiplier: Decided<u8>,
}

impl BfdPlan {
    /// What is written, with the usual numbers where nothing is.
    pub(super) fn of(bfd: &Bfd) -> Self {
        let Bfd { interval, multiplier } = bfd;
        Self {
            interval: Decided::or(interval, 300, "what the daemons have by themselves"),
            multiplier: Decided::or(multiplier, 3, "what the daemons have by themselves"),
        }
    }

    /// BFD as it is written, or with the usual numbers where it is not and `default` asks for it.
    pub(super) fn decide(key: &Key<Toggle<Bfd>>, default: bool) -> Option<Self> {
        match key.get() {
            Some(toggle) => toggle.on().map(Self::of),
            None => default.then(|| Self::of(&Bfd::default())),
        }
    }
}

/// The sessions of a node: those that are written, else what follows from the fabric.
pub fn plan(cluster: &Cluster, routing: &Routing, ports: &[LinkName]) -> Vec<NeighborPlan> {
    match routing.neighbors.get() {
        Some(list) => list.0.iter().filter_map(|neighbor| written(cluster, neighbor)).collect(),
        None => from_fabric(cluster, ports),
    }
}

fn timers(key: &Key<Pair<u16>>) -> Decided<(u16, u16)> {
    match key.at() {
        Some(at) => Decided::written((at.value.0.value, at.value.1.value), at.place),
        None => Decided::default((3, 9), "a dead neighbour is noticed within seconds"),
    }
}

fn passive(key: &Key<bool>) -> Decided<bool> {
    Decided::or(key, false, "whoever is first connects")
}

fn written(cluster: &Cluster, at: &At<Neighbor>) -> Option<NeighborPlan> {
    let neighbor = &at.value;
    let found = router_of(cluster, neighbor);
    let router = found.map(|(_, router)| router);
    let peer = match (neighbor.address.get(), neighbor.link.get()) {
        (Some(address), _) => Peer::Address(*address),
        (None, Some(link)) => Peer::Link(link.clone()),
        (None, None) => Peer::Address(router?.addresses.get()?.values().next().copied()?),
    };
    let unnumbered = matches!(peer, Peer::Link(_));
    let bfd = unnumbered && router.is_none_or(|router| router.bfd.get() != Some(&Toggle::Off));
    Some(NeighborPlan {
        place: at.place,
        router: router.and_then(|router| router.name.get().cloned()),
        router_nth: found.map(|(nth, _)| nth),
        peer,
        extended_nexthop: router.is_none_or(extends_next_hops),
        asn: Decided::of(&neighbor.asn).or_else(|| Decided::of(&router?.asn)),
        bfd: BfdPlan::decide(&neighbor.bfd, bfd),
        timers: timers(&neighbor.timers),
        passive: passive(&neighbor.passive),
        password: Decided::of(&neighbor.password).or_else(|| Decided::of(&router?.password)),
    })
}

/// The router a neighbour names, or else the one that has its address.
fn router_of<'c>(cluster: &'c Cluster, neighbor: &Neighbor) -> Option<(usize, &'c Router)> {
    let mut routers = cluster.routers().map(|router| &router.value).enumerate();
    match (neighbor.router.get(), neighbor.address.get()) {
        (Some(name), _) => routers.find(|(_, router)| router.name.get() == Some(name)),
        (None, Some(address)) => {
            routers.find(|(_, router)| router.addresses.values().any(|at| at == address))
        }
        (None, None) => None,
    }
}

fn extends_next_hops(router: &Router) -> bool {
    router.takes_v4_over_v6().unwrap_or(true)
}

/// Where no neighbours are written: the n-th port to the n-th leaf, and every gateway by its address.
fn from_fabric(cluster: &Cluster, ports: &[LinkName]) -> Vec<NeighborPlan> {
    let of_role = |role| {
        cluster
            .routers()
            .enumerate()
            .filter(move |(_, router)| router.value.role.value().unwrap_or(RouterRole::Leaf) == role)
    };
    let leafs = of_role(RouterRole::Leaf).zip(ports).map(|((nth, router), port)| {
        let address = router.value.addresses.get().and_then(|list| list.values().next().copied());
        with_router(nth, router, address.map_or_else(|| Peer::Link(port.clone()), Peer::Address))
    });
    let gateways = of_role(RouterRole::Gateway).filter_map(|(nth, router)| {
        let address = router.value.addresses.get()?.values().next().copied()?;
        Some(with_router(nth, router, Peer::Address(address)))
    });
    leafs.chain(gateways).collect()
}

/// The session with a router of which no neighbour is written.
fn with_router(nth: usize, router: &At<Router>, peer: Peer) -> NeighborPlan {
    let At { value: router, place } = router;
    NeighborPlan {
        place: *place,
        router_nth: Some(nth),
        router: router.name.get().cloned(),
        bfd: BfdPlan::decide(&router.bfd, matches!(peer, Peer::Link(_))),
        peer,
        extended_nexthop: extends_next_hops(router),
        asn: Decided::of(&router.asn),
        timers: timers(&Key::default()),
        passive: passive(&Key::default()),
        password: Decided::of(&router.password),
    }
}
