//! Forwarding paths of all nodes and routers to one address: by BGP, a connected link, or a default route.
//!
//! The longest prefix wins; of equally long ones, the connected network. Routes of routers that ichor does not configure are
//! unknown, except for those that are announced.

use std::net::IpAddr;

use ipnet::IpNet;

use super::ProofModel;
use super::destination::{Destination, DestinationKind, representative};
use super::failure::Failure;
use super::propagation::Propagation;
use crate::cluster::section::Addressing;
use crate::plan::{NodePlan, Plan};
use ichor_bgp::model::Family;
use ichor_values::LinkName;

/// The next hop of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// Local: the address is the node's own, or its speaker's.
    Itself,
    /// Connected: delivered on this link, which has no name on routers.
    Link(Option<LinkName>),
    /// These neighbours.
    Neighbors(Vec<u32>),
    /// The gateway in the file.
    Gateway(IpAddr),
    /// Unknown: not in the file.
    Unknown,
    /// No route: the packet is dropped.
    Nowhere,
}

/// The forwarding path of a node or router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardingPath {
    /// The node or router.
    pub vertex: u32,
    /// Next hop of its packets.
    pub next: NextHop,
    /// The longest matching prefix.
    pub route: Option<IpNet>,
    /// The AS path.
    pub path: Vec<u32>,
}

/// Scope of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressScope {
    /// In an announced prefix of this kind; a pool is represented by one address.
    Announced(IpNet, DestinationKind),
    /// In a network of nodes.
    Connected(IpNet),
    /// In no known network.
    Outside,
}

/// The scope of an address, and the paths to it of all nodes and routers that have not failed, routers first.
pub fn forwarding_paths(
    subject: &ProofModel,
    plan: &Plan,
    address: IpAddr,
    failures: &[Failure],
) -> (AddressScope, Vec<ForwardingPath>) {
    let search = PathSearch { subject, plan, address, failures };
    let targets = search.matching_destinations();
    let subnet = match targets.first() {
        Some((target, net)) => AddressScope::Announced(*net, target.kind.clone()),
        None => search.connected_network().map_or(AddressScope::Outside, AddressScope::Connected),
    };
    let graph = &subject.graph;
    let has_failed = |vertex: &u32| failures.contains(&Failure::Vertex(*vertex));
    let vertices = graph.routers().chain((0..).take(graph.nodes)).filter(|vertex| !has_failed(vertex));
    let mut paths: Vec<ForwardingPath> = vertices.map(|vertex| search.without_bgp(vertex, &subnet)).collect();
    // Shortest prefix first, so that a longer one replaces it.
    for (target, net) in targets.iter().rev() {
        let mut propagation = Propagation::new(graph);
        propagation.converge(target);
        propagation.with_failures(failures, |propagation| {
            for path in &mut paths {
                path.apply_bgp(subject, propagation, *net);
            }
        });
    }
    (subnet, paths)
}

impl ForwardingPath {
    /// Uses the BGP route unless a longer prefix is known.
    fn apply_bgp(&mut self, subject: &ProofModel, propagation: &Propagation<'_>, net: IpNet) {
        let known = match (&self.next, self.route) {
            (NextHop::Itself | NextHop::Link(_), Some(route)) => route.prefix_len() >= net.prefix_len(),
            _ => false,
        };
        if known || !propagation.has(self.vertex) {
            return;
        }
        let far = |edge: u32| subject.graph.edges[edge as usize].other(self.vertex);
        self.next = if propagation.is_own(self.vertex) {
            NextHop::Itself
        } else {
            NextHop::Neighbors(propagation.next(self.vertex).into_iter().map(far).collect())
        };
        self.route = Some(net);
        self.path = propagation.path(self.vertex);
    }
}

struct PathSearch<'a> {
    subject: &'a ProofModel,
    plan: &'a Plan,
    address: IpAddr,
    failures: &'a [Failure],
}

impl<'a> PathSearch<'a> {
    /// Announced destinations that contain the address, longest prefix first.
    fn matching_destinations(&self) -> Vec<(&'a Destination, IpNet)> {
        let mut found: Vec<(&Destination, IpNet)> = Vec::new();
        for target in &self.subject.destinations {
            let nets = target
                .nets
                .iter()
                .filter(|net| net.contains(&self.address) || self.represents_pool(target, **net));
            found.extend(nets.map(|net| (target, *net)));
        }
        found.sort_by_key(|(_, net)| std::cmp::Reverse(net.prefix_len()));
        found
    }

    /// Whether a prefix represents a pool that contains the address.
    fn represents_pool(&self, target: &Destination, net: IpNet) -> bool {
        let DestinationKind::Service(name) = &target.kind else { return false };
        let pools = self.plan.cluster.pools.iter().filter(|(pool, _)| pool.as_str() == name);
        let mut prefixes = pools.flat_map(|(_, prefixes)| prefixes);
        prefixes.any(|prefix| prefix.value.contains(&self.address) && representative(prefix.value) == net)
    }

    /// The node network that contains the address.
    fn connected_network(&self) -> Option<IpNet> {
        let nodes = self.subject.network.nodes.iter().map(|model| &self.plan.nodes[model.nth]);
        let mut networks = nodes.flat_map(connected_networks).map(|(_, net)| net.trunc());
        networks.find(|net| net.contains(&self.address))
    }

    fn without_bgp(&self, vertex: u32, subnet: &AddressScope) -> ForwardingPath {
        let (next, route) = if (vertex as usize) < self.subject.graph.nodes {
            self.node_next_hop(vertex)
        } else {
            self.router_next_hop(vertex as usize - self.subject.graph.nodes, subnet)
        };
        ForwardingPath { vertex, next, route, path: Vec::new() }
    }

    fn router_next_hop(&self, nth: usize, subnet: &AddressScope) -> (NextHop, Option<IpNet>) {
        let addresses = &self.subject.network.routers[nth].addresses;
        let net = match subnet {
            AddressScope::Announced(..) => return (NextHop::Nowhere, None),
            AddressScope::Outside => return (NextHop::Unknown, None),
            AddressScope::Connected(net) => *net,
        };
        match addresses.iter().find(|own| net.contains(*own)) {
            Some(own) if *own == self.address => (NextHop::Itself, Some(net)),
            Some(_) => (NextHop::Link(None), Some(net)),
            None => (NextHop::Unknown, None),
        }
    }

    fn node_next_hop(&self, vertex: u32) -> (NextHop, Option<IpNet>) {
        let node = &self.plan.nodes[self.subject.network.nodes[vertex as usize].nth];
        let own = loopback_addresses(node).chain(connected_networks(node).map(|(_, net)| net.addr()));
        if own.into_iter().any(|own| own == self.address) {
            return (NextHop::Itself, Some(IpNet::from(self.address)));
        }
        let up = |link: &LinkName| {
            let link = self.subject.graph.link_of(vertex, node.base_link(link));
            !link.is_some_and(|link| self.failures.contains(&Failure::Link(link)))
        };
        let connected =
            connected_networks(node).filter(|(link, net)| net.contains(&self.address) && up(link));
        if let Some((link, net)) = connected.max_by_key(|(_, net)| net.prefix_len()) {
            return (NextHop::Link(Some(link.clone())), Some(net.trunc()));
        }
        self.default_route(vertex, node, up(&node.link.value))
    }

    /// The default route: one from BGP is preferred to the gateway's, which has a higher metric.
    fn default_route(&self, vertex: u32, node: &NodePlan, is_up: bool) -> (NextHop, Option<IpNet>) {
        let family = Family::of(IpNet::from(self.address));
        let session_down = |edge: u32, router: u32| {
            self.failures.contains(&Failure::Vertex(router))
                || self.failures.iter().any(|failure| failure.edges(&self.subject.graph).contains(&edge))
        };
        let defaults = self.subject.graph.defaults(vertex, family);
        let routers: Vec<u32> = defaults
            .filter(|(edge, router)| !session_down(*edge, *router))
            .map(|(_, router)| router)
            .collect();
        let gateway = match self.address {
            IpAddr::V4(_) => node.gateway.v4.as_ref().map(|it| IpAddr::V4(it.value)),
            IpAddr::V6(_) => node.gateway.v6.as_ref().map(|it| IpAddr::V6(it.value)),
        };
        match gateway.filter(|_| is_up) {
            _ if !routers.is_empty() => (NextHop::Neighbors(routers), Some(family.everything())),
            Some(gateway) => (NextHop::Gateway(gateway), Some(family.everything())),
            None if node.addressing.value == Addressing::Dhcp && is_up => (NextHop::Unknown, None),
            None => (NextHop::Nowhere, None),
        }
    }
}

/// Loopback and dummy addresses of a node.
fn loopback_addresses(node: &NodePlan) -> impl Iterator<Item = IpAddr> {
    let dummies = node.dummies.iter().flat_map(|dummy| dummy.address.iter());
    node.loopback.iter().chain(dummies).map(|(net, _)| net.addr())
}

/// The connected networks of a node, each with its link and the node's address; unknown with DHCP.
fn connected_networks(node: &NodePlan) -> impl Iterator<Item = (&LinkName, IpNet)> {
    let fixed = node.addressing.value == Addressing::Static;
    let main = node.address.iter().filter(move |_| fixed).map(|(net, _)| (&node.link.value, net));
    main.chain(node.listed_links().flat_map(|(name, nets)| nets.map(move |net| (name, net))))
}
