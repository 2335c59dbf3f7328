//! Everyone's way to one address: by BGP, on a link of its own, or by a default route.
//!
//! The longest prefix decides, and of two as long the one on the own link. What a router that ichor does not fill knows of networks
//! that nobody announces is not in the file, and so is not known here.

use std::net::IpAddr;

use ipnet::IpNet;

use super::ProofModel;
use super::destination::{Destination, DestinationKind, one_of};
use super::failure::Failure;
use super::spread::Propagation;
use crate::cluster::section::Addressing;
use crate::plan::{NodePlan, Plan};
use ichor_bgp::model::Family;
use ichor_values::LinkName;

/// Where somebody sends a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// It is there: the address is its own, or its speaker's.
    Itself,
    /// Onto its own link; a router's has no name here.
    Link(Option<LinkName>),
    /// To neighbours.
    Neighbors(Vec<u32>),
    /// To the gateway that the file names.
    Gateway(IpAddr),
    /// The file does not say.
    Unknown,
    /// Nowhere.
    Nowhere,
}

/// Somebody's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardingPath {
    /// Who.
    pub vertex: u32,
    /// Where its packets go.
    pub next: NextHop,
    /// The prefix that decides.
    pub route: Option<IpNet>,
    /// The AS numbers on the way.
    pub path: Vec<u32>,
}

/// What an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressScope {
    /// In a prefix that somebody announces, of this kind. Of a pool one address stands for all.
    Announced(IpNet, DestinationKind),
    /// In a network of nodes.
    Connected(IpNet),
    /// In none.
    Outside,
}

/// Everyone's way to an address, routers first, and what it is. Who is taken away has none.
pub fn all(
    subject: &ProofModel,
    plan: &Plan,
    address: IpAddr,
    failures: &[Failure],
) -> (AddressScope, Vec<ForwardingPath>) {
    let search = PathSearch { subject, plan, address, failures };
    let targets = search.targets();
    let subnet = match targets.first() {
        Some((target, net)) => AddressScope::Announced(*net, target.kind.clone()),
        None => search.networks().map_or(AddressScope::Outside, AddressScope::Connected),
    };
    let graph = &subject.graph;
    let gone = |vertex: &u32| failures.contains(&Failure::Vertex(*vertex));
    let everyone = graph.routers().chain((0..).take(graph.nodes)).filter(|vertex| !gone(vertex));
    let mut ways: Vec<ForwardingPath> = everyone.map(|vertex| search.without_bgp(vertex, &subnet)).collect();
    // The shortest prefix first, so that a longer one takes its place.
    for (target, net) in targets.iter().rev() {
        let mut spread = Propagation::new(graph);
        spread.settle(target);
        spread.without(failures, |spread| ways.iter_mut().for_each(|way| way.improve(subject, spread, *net)));
    }
    (subnet, ways)
}

impl ForwardingPath {
    /// Takes the way by BGP, if there is one and nothing longer is known.
    fn improve(&mut self, subject: &ProofModel, spread: &Propagation<'_>, net: IpNet) {
        let known = match (&self.next, self.route) {
            (NextHop::Itself | NextHop::Link(_), Some(route)) => route.prefix_len() >= net.prefix_len(),
            _ => false,
        };
        if known || !spread.has(self.vertex) {
            return;
        }
        let far = |edge: u32| subject.graph.edges[edge as usize].other(self.vertex);
        self.next = if spread.is_own(self.vertex) {
            NextHop::Itself
        } else {
            NextHop::Neighbors(spread.next(self.vertex).into_iter().map(far).collect())
        };
        self.route = Some(net);
        self.path = spread.path(self.vertex);
    }
}

struct PathSearch<'a> {
    subject: &'a ProofModel,
    plan: &'a Plan,
    address: IpAddr,
    failures: &'a [Failure],
}

impl<'a> PathSearch<'a> {
    /// What is announced with the address in it, longest prefix first.
    fn targets(&self) -> Vec<(&'a Destination, IpNet)> {
        let mut found: Vec<(&Destination, IpNet)> = Vec::new();
        for target in &self.subject.destinations {
            let nets =
                target.nets.iter().filter(|net| net.contains(&self.address) || self.stands_in(target, **net));
            found.extend(nets.map(|net| (target, *net)));
        }
        found.sort_by_key(|(_, net)| std::cmp::Reverse(net.prefix_len()));
        found
    }

    /// Whether a prefix stands for a pool with the address in it.
    fn stands_in(&self, target: &Destination, net: IpNet) -> bool {
        let DestinationKind::Service(name) = &target.kind else { return false };
        let pools = self.plan.cluster.pools.iter().filter(|(pool, _)| pool.as_str() == name);
        let mut prefixes = pools.flat_map(|(_, prefixes)| prefixes);
        prefixes.any(|prefix| prefix.value.contains(&self.address) && one_of(prefix.value) == net)
    }

    /// The network of a node with the address in it.
    fn networks(&self) -> Option<IpNet> {
        let nodes = self.subject.network.nodes.iter().map(|model| &self.plan.nodes[model.nth]);
        let mut networks = nodes.flat_map(connected_networks).map(|(_, net)| net.trunc());
        networks.find(|net| net.contains(&self.address))
    }

    fn without_bgp(&self, vertex: u32, subnet: &AddressScope) -> ForwardingPath {
        let (next, route) = if (vertex as usize) < self.subject.graph.nodes {
            self.node(vertex)
        } else {
            self.router(vertex as usize - self.subject.graph.nodes, subnet)
        };
        ForwardingPath { vertex, next, route, path: Vec::new() }
    }

    fn router(&self, nth: usize, subnet: &AddressScope) -> (NextHop, Option<IpNet>) {
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

    fn node(&self, vertex: u32) -> (NextHop, Option<IpNet>) {
        let node = &self.plan.nodes[self.subject.network.nodes[vertex as usize].nth];
        let own = loopback_addresses(node).chain(connected_networks(node).map(|(_, net)| net.addr()));
        if own.into_iter().any(|own| own == self.address) {
            return (NextHop::Itself, Some(IpNet::from(self.address)));
        }
        let up = |link: &LinkName| {
            let link = self.subject.graph.link_of(vertex, node.below_vlans(link));
            !link.is_some_and(|link| self.failures.contains(&Failure::Link(link)))
        };
        let beside = connected_networks(node).filter(|(link, net)| net.contains(&self.address) && up(link));
        if let Some((link, net)) = beside.max_by_key(|(_, net)| net.prefix_len()) {
            return (NextHop::Link(Some(link.clone())), Some(net.trunc()));
        }
        self.by_default(vertex, node, up(&node.link.value))
    }

    /// A default route: one from BGP goes before the gateway's, whose metric is higher.
    fn by_default(&self, vertex: u32, node: &NodePlan, is_up: bool) -> (NextHop, Option<IpNet>) {
        let family = Family::of(IpNet::from(self.address));
        let spread_down = |edge: u32, router: u32| {
            self.failures.contains(&Failure::Vertex(router))
                || self.failures.iter().any(|failure| failure.edges(&self.subject.graph).contains(&edge))
        };
        let given = self.subject.graph.defaults(vertex, family);
        let routers: Vec<u32> =
            given.filter(|(edge, router)| !spread_down(*edge, *router)).map(|(_, router)| router).collect();
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

/// Addresses of a node that are on no network.
fn loopback_addresses(node: &NodePlan) -> impl Iterator<Item = IpAddr> {
    let dummies = node.dummies.iter().flat_map(|dummy| dummy.address.iter());
    node.loopback.iter().chain(dummies).map(|(net, _)| net.addr())
}

/// The networks a node is in, each with its link and the node's address there. What DHCP gives is not known.
fn connected_networks(node: &NodePlan) -> impl Iterator<Item = (&LinkName, IpNet)> {
    let fixed = node.addressing.value == Addressing::Static;
    let main = node.address.iter().filter(move |_| fixed).map(|(net, _)| (&node.link.value, net));
    main.chain(node.listed_links().flat_map(|(name, nets)| nets.map(move |net| (name, net))))
}
