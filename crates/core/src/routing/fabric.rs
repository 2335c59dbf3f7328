//! Toward the fabric: sessions, what is announced there, and what is let in and out.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Bfd, Family, Filter};
use crate::cluster::section::{Addressing, Advertise, PolicyIn, PolicyOut, Routing};
use crate::cluster::value::{Asn, Community, LinkName, Mac, Secret, Toggle};
use crate::model::Cluster;
use crate::plan::{NeighborPlan, NodePlan, Peer, RoutingPlan};

/// The instance in the node's own table.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// Whom it peers with.
    pub neighbors: Vec<Neighbor>,
    /// The node's own addresses that are announced.
    pub announced: Vec<Announced>,
    /// Prefixes that are announced in place of their parts.
    pub aggregates: Vec<IpNet>,
    /// What is let in.
    pub inward: Inward,
    /// What is added on the way out. Only what the node or its speaker originated goes out: a node is never transit.
    pub outward: Outward,
    /// Seconds that neighbours keep routes through a planned restart; none when they shall not.
    pub graceful_restart: Option<u16>,
}

/// One session.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbor {
    /// How the neighbour is found.
    pub found: Found,
    /// Its AS number; none when any external one will do.
    pub asn: Option<Asn>,
    /// The families it carries.
    pub families: Vec<Family>,
    /// Fast detection of a dead path.
    pub bfd: Option<Bfd>,
    /// Keepalive and hold time in seconds.
    pub timers: (u16, u16),
    /// Whether the neighbour connects.
    pub passive: bool,
    /// Where the password can be had.
    pub password: Option<Secret>,
}

/// How a neighbour is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// By its router advertisements on a port.
    Port {
        /// The port.
        name: LinkName,
        /// Its MAC address, by which the port itself is found.
        mac: Option<Mac>,
    },
    /// By its address.
    Address {
        /// The address.
        address: IpAddr,
        /// The node's own address toward it, where it surely has that one.
        source: Option<IpAddr>,
    },
}

impl Neighbor {
    /// Whether IPv4 goes over an IPv6 session, which both ends must be told.
    pub fn extends_next_hops(&self) -> bool {
        let v6 = match &self.found {
            Found::Port { .. } => true,
            Found::Address { address, .. } => address.is_ipv6(),
        };
        v6 && self.families.contains(&Family::V4)
    }
}

/// An address that is announced while its link has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// What kind of address it is.
    pub kind: Advertise,
    /// The link that has it.
    pub link: LinkName,
    /// The address, /32 or /128.
    pub net: IpNet,
}

/// What is let in from the fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inward {
    /// Prefixes.
    pub filter: Filter,
    /// More routes of one family than this close the session.
    pub max_prefixes: Option<u32>,
    /// Local preference.
    pub local_preference: Option<u32>,
}

/// What is added to routes on the way to the fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outward {
    /// Communities.
    pub communities: Vec<Community>,
    /// How often the own AS number is put in front once more.
    pub prepend: u8,
}

/// The instance of a node.
pub(super) fn of(cluster: &Cluster, node: &NodePlan, plan: &RoutingPlan, routing: &Routing) -> Fabric {
    let policy = routing.policy.get();
    Fabric {
        neighbors: plan.neighbors.iter().map(|neighbor| session(cluster, node, neighbor)).collect(),
        announced: announced(node, &plan.advertise.value),
        aggregates: routing.aggregates.values().map(|prefix| prefix.0.trunc()).collect(),
        inward: inward(policy.and_then(|policy| policy.r#in.get())),
        outward: policy.and_then(|policy| policy.out.get()).map(outward).unwrap_or_default(),
        graceful_restart: graceful_restart(routing),
    }
}

/// Seconds that neighbours keep routes through a planned restart; none when they shall not.
pub fn graceful_restart(routing: &Routing) -> Option<u16> {
    match routing.graceful_restart.get() {
        None => Some(30),
        Some(Toggle::Off) => None,
        Some(toggle) => Some(toggle.on().and_then(|graceful| graceful.time.value()).unwrap_or(30)),
    }
}

fn session(cluster: &Cluster, node: &NodePlan, plan: &NeighborPlan) -> Neighbor {
    let found = match &plan.peer {
        Peer::Link(link) => {
            let port = node.ports.iter().find(|port| port.name == *link);
            let mac = port.and_then(|port| port.mac.as_ref()).map(|mac| mac.value);
            Found::Port { name: link.clone(), mac }
        }
        Peer::Address(address) => Found::Address { address: *address, source: source(node, *address) },
    };
    Neighbor {
        found,
        asn: plan.asn,
        families: families(cluster, plan),
        bfd: plan.bfd.map(Bfd::from),
        timers: plan.timers,
        passive: plan.passive,
        password: plan.password.clone(),
    }
}

/// An IPv4 session carries IPv4. One over IPv6 carries both, unless the router is known to take no IPv4 there.
fn families(cluster: &Cluster, plan: &NeighborPlan) -> Vec<Family> {
    let router = plan.router_nth.and_then(|nth| cluster.routers().nth(nth));
    let extends = router.is_none_or(|router| router.value.takes_v4_over_v6().unwrap_or(true));
    match plan.peer {
        Peer::Address(IpAddr::V4(_)) => vec![Family::V4],
        Peer::Address(IpAddr::V6(_)) if !extends => vec![Family::V6],
        Peer::Address(IpAddr::V6(_)) | Peer::Link(_) => Family::ALL.to_vec(),
    }
}

/// The node's address in the neighbour's network. One that DHCP gives is not known here.
fn source(node: &NodePlan, neighbor: IpAddr) -> Option<IpAddr> {
    let fixed = node.addressing.value == Addressing::Static;
    let own = node.address.iter().map(|(net, _)| net).find(|net| net.contains(&neighbor));
    own.filter(|_| fixed).map(|net| net.addr())
}

fn announced(node: &NodePlan, advertise: &[Advertise]) -> Vec<Announced> {
    let lo = LinkName::parse("lo").expect("a link name");
    let loopback = node.loopback.iter().map(|(net, _)| (Advertise::Loopback, lo.clone(), net));
    let dummies = node.dummies.iter().flat_map(|dummy| {
        let kind = if dummy.anycast { Advertise::Anycast } else { Advertise::Dummy };
        dummy.address.iter().map(move |(net, _)| (kind, dummy.name.clone(), net))
    });
    loopback
        .chain(dummies)
        .filter(|(kind, ..)| advertise.contains(kind))
        .map(|(kind, link, net)| Announced { kind, link, net: IpNet::from(net.addr()) })
        .collect()
}

fn inward(policy: Option<&PolicyIn>) -> Inward {
    let allow: Vec<IpNet> =
        policy.into_iter().flat_map(|policy| policy.allow.values()).map(|prefix| prefix.0).collect();
    Inward {
        filter: Filter::allowing(&allow),
        max_prefixes: policy.and_then(|policy| policy.max_prefixes.value()),
        local_preference: policy.and_then(|policy| policy.local_preference.value()),
    }
}

fn outward(policy: &PolicyOut) -> Outward {
    Outward {
        communities: policy.communities.values().cloned().collect(),
        prepend: policy.prepend.value().unwrap_or(0),
    }
}
