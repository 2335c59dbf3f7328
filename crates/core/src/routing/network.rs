//! The BGP topology: nodes, routers and their sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::router::RouterPeer;
use super::{FabricRouter, ProtectedPrefixes};
use crate::model::Cluster;
use crate::plan::cable::Cables;
use crate::plan::{self, NodePlan, Plan};
use ichor_bgp::model::fabric::{Neighbor, PeerAddress};
use ichor_bgp::model::{BgpModel, Family, PrefixRule};
use ichor_bgp::setting::RouterRole;
use ichor_values::{Issue, LinkName, Secret};

/// Keepalive and hold time between two routers.
const TIMERS: (u16, u16) = (3, 9);

/// All BGP speakers outside Kubernetes, and their sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct BgpTopology {
    /// The nodes with routing, in the order of the file.
    pub nodes: Vec<BgpModel>,
    /// The routers in the file, then unlisted neighbours of nodes.
    pub routers: Vec<FabricRouter>,
    /// The sessions.
    pub sessions: Vec<BgpSession>,
}

/// A session: its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BgpSession(pub TopologyEnd, pub TopologyEnd);

/// One end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopologyEnd {
    /// A node, and the number of its neighbour.
    Node(usize, usize),
    /// A router, and the number of its peer.
    Router(usize, usize),
}

impl BgpTopology {
    /// Builds the topology of a cluster, or returns all missing keys.
    pub fn from_plan(cluster: &Cluster, plan: &Plan) -> Result<Self, Vec<Issue>> {
        let protected = super::protected(plan);
        let (mut models, mut issues) = (Vec::new(), Vec::new());
        for node in &plan.nodes {
            match super::model(node, &protected) {
                Ok(model) => models.extend(model),
                Err(missing) => issues.push(missing.issue),
            }
        }
        if issues.is_empty() { Ok(Self::from_models(cluster, plan, models)) } else { Err(issues) }
    }

    /// Builds the topology from the models of all nodes with routing, in the order of the file.
    pub(crate) fn from_models(cluster: &Cluster, plan: &Plan, nodes: Vec<BgpModel>) -> Self {
        let protected = super::protected(plan);
        let plans: Vec<&NodePlan> = nodes.iter().map(|model| &plan.nodes[model.nth]).collect();
        let routers = plan.routers.iter().map(FabricRouter::from_plan).collect();
        let mut network = Self { nodes, routers, sessions: Vec::new() };
        let cables = Cables::from_cluster(cluster);
        let mut ports = PortNames::from_cables(&cables);
        network.connect_nodes(&plans, &cables, &mut ports);
        network.connect_routers(&cables, &mut ports);
        network.set_accepted_prefixes(plan, &protected);
        network
    }

    /// The session as configured at one end.
    pub fn at(&self, end: TopologyEnd) -> &Neighbor {
        match end {
            TopologyEnd::Node(node, nth) => &self.nodes[node].fabric.neighbors[nth],
            TopologyEnd::Router(router, nth) => &self.routers[router].peers[nth].session,
        }
    }

    /// The session as configured at one end, mutable.
    pub(crate) fn at_mut(&mut self, end: TopologyEnd) -> &mut Neighbor {
        match end {
            TopologyEnd::Node(node, nth) => &mut self.nodes[node].fabric.neighbors[nth],
            TopologyEnd::Router(router, nth) => &mut self.routers[router].peers[nth].session,
        }
    }

    /// The name of the node or router at an end.
    pub fn name(&self, end: TopologyEnd) -> &str {
        match end {
            TopologyEnd::Node(node, _) => self.nodes[node].name.as_str(),
            TopologyEnd::Router(router, _) => &self.routers[router].name,
        }
    }

    fn connect_nodes(&mut self, plans: &[&NodePlan], cables: &Cables<'_>, ports: &mut PortNames) {
        let mut unlisted: BTreeMap<String, usize> = BTreeMap::new();
        for (node, plan) in plans.iter().enumerate() {
            let neighbors = plan.routing.iter().flat_map(|routing| &routing.neighbors);
            for (nth, neighbor) in neighbors.enumerate() {
                let router = neighbor.router_nth.unwrap_or_else(|| {
                    let (name, address) = describe_neighbor(neighbor);
                    let asn = neighbor.asn();
                    let key = format!("{name} {asn:?}");
                    *unlisted.entry(key).or_insert_with(|| {
                        let nth = self.routers.len();
                        self.routers.push(FabricRouter::unlisted(nth, name, asn, address));
                        nth
                    })
                });
                let near = NodeEnd { model: &self.nodes[node], plan, nth };
                let peer = near.router_peer(&self.routers[router], cables, ports);
                let far = &mut self.routers[router];
                far.peers.push(peer);
                let ends = BgpSession(
                    TopologyEnd::Node(node, nth),
                    TopologyEnd::Router(router, far.peers.len() - 1),
                );
                self.sessions.push(ends);
            }
        }
    }

    /// Adds the sessions between routers over their cables; without cables, every leaf is connected to every spine.
    fn connect_routers(&mut self, cables: &Cables<'_>, ports: &mut PortNames) {
        for (one, other) in self.router_cables(cables, ports) {
            let password =
                self.routers[one.0].password.clone().or_else(|| self.routers[other.0].password.clone());
            let first = self.add_peer(&one, other.0, password.clone());
            let second = self.add_peer(&other, one.0, password);
            self.sessions.push(BgpSession(first, second));
        }
    }

    fn router_cables(
        &self,
        cables: &Cables<'_>,
        ports: &mut PortNames,
    ) -> Vec<((usize, LinkName), (usize, LinkName))> {
        let nth = |name: &str| self.routers.iter().position(|router| router.listed && router.name == name);
        if !cables.routers.is_empty() {
            let end = |(router, port): (&str, &str)| Some((nth(router)?, LinkName::parse(port).ok()?));
            return cables
                .routers
                .iter()
                .filter_map(|(one, other)| Some((end(*one)?, end(*other)?)))
                .collect();
        }
        let with_role = |role| (0..self.routers.len()).filter(move |nth| self.routers[*nth].role == role);
        let pairs: Vec<_> = with_role(RouterRole::Leaf)
            .filter(|leaf| self.routers[*leaf].listed)
            .flat_map(|leaf| with_role(RouterRole::Spine).map(move |spine| (leaf, spine)))
            .collect();
        let mut port = |router: usize| (router, ports.next(&self.routers[router].name));
        pairs.into_iter().map(|(leaf, spine)| (port(leaf), port(spine))).collect()
    }

    fn add_peer(
        &mut self,
        (router, port): &(usize, LinkName),
        far: usize,
        password: Option<Secret>,
    ) -> TopologyEnd {
        let (name, asn) = (self.routers[far].name.clone(), self.routers[far].asn);
        let peers = &mut self.routers[*router].peers;
        let session = Neighbor {
            found: PeerAddress::Port { name: port.clone(), mac: None },
            asn,
            families: Family::ALL.to_vec(),
            bfd: None,
            timers: TIMERS,
            passive: false,
            password,
        };
        peers.push(RouterPeer { name, node: false, session, by_range: false });
        TopologyEnd::Router(*router, peers.len() - 1)
    }

    /// Sets the prefixes that routers accept from nodes: host routes of the cluster's prefixes, aggregates, and those of speakers.
    fn set_accepted_prefixes(&mut self, plan: &Plan, guard: &ProtectedPrefixes) {
        let dummies = plan.nodes.iter().flat_map(NodePlan::dummy_prefixes);
        let prefixes = plan.cluster.loopback.iter().map(|(net, _)| net).chain(dummies);
        let known: BTreeSet<IpNet> = prefixes.map(|net| net.trunc()).collect();
        let mut own = known.clone();
        let mut terms = Vec::new();
        for model in &self.nodes {
            let announced = model.fabric.announced.iter().map(|announced| announced.net);
            own.extend(announced.filter(|net| !known.iter().any(|prefix| prefix.contains(net))));
            terms.extend(model.fabric.aggregates.iter().map(|net| PrefixRule::exactly(true, *net)));
        }
        let speakers = self.nodes.iter().filter_map(|model| model.workload.as_ref());
        let permits = speakers.flat_map(|workload| workload.filter.0.iter().filter(|term| term.permit));
        let mut allowed: Vec<PrefixRule> = permits.copied().collect();
        terms.extend(own.iter().map(|net| PrefixRule::hosts(true, *net)));
        for list in [&mut terms, &mut allowed] {
            list.sort_by_key(|term| (term.net, term.least, term.most));
            list.dedup();
        }
        terms.extend(guard.filter(&allowed).0);
        for router in &mut self.routers {
            router.accepts.0.clone_from(&terms);
        }
    }
}

/// The name and address of a router that the file does not list.
fn describe_neighbor(neighbor: &plan::NeighborPlan) -> (String, Option<IpAddr>) {
    match &neighbor.peer {
        plan::NeighborAddress::Address(address) => (address.to_string(), Some(*address)),
        plan::NeighborAddress::Link(link) => (format!("the router on {link}"), None),
    }
}

/// A node's end of a session.
struct NodeEnd<'a> {
    model: &'a BgpModel,
    plan: &'a NodePlan,
    nth: usize,
}

impl NodeEnd<'_> {
    /// The session as the router must configure it.
    fn router_peer(&self, router: &FabricRouter, cables: &Cables<'_>, ports: &mut PortNames) -> RouterPeer {
        let own = &self.model.fabric.neighbors[self.nth];
        let (found, by_range) = match &own.found {
            PeerAddress::Port { name, .. } => {
                let cable = cables.nodes.get(&(self.plan.nth, name.as_str()));
                let listed = cable.filter(|(far, _)| *far == router.name);
                let port = listed.and_then(|(_, port)| LinkName::parse(port).ok());
                let name = port.unwrap_or_else(|| ports.next(&router.name));
                (PeerAddress::Port { name, mac: None }, false)
            }
            PeerAddress::Address { address, source } => {
                let node = source.or_else(|| self.address_in_family(*address));
                // With DHCP a router knows only the range of the node's address. The router must connect to a passive node.
                let found =
                    PeerAddress::Address { address: node.unwrap_or(*address), source: Some(*address) };
                let range = router.listen.is_some_and(|range| range.addr().is_ipv4() == address.is_ipv4());
                (found, (range && !own.passive) || node.is_none())
            }
        };
        let session = Neighbor {
            found,
            asn: Some(self.model.asn),
            families: own.families.clone(),
            bfd: router.bfd.unwrap_or(own.bfd),
            timers: own.timers,
            passive: false,
            // The node's password, which defaults to the router's.
            password: own.password.clone(),
        };
        RouterPeer { name: self.model.name.to_string(), node: true, session, by_range }
    }

    /// The node's address of the same family; unknown with DHCP.
    fn address_in_family(&self, other: IpAddr) -> Option<IpAddr> {
        let fixed = self.plan.addressing.value == crate::cluster::section::Addressing::Static;
        let mut own = self.plan.address.iter().filter(|_| fixed).map(|(net, _)| net.addr());
        own.find(|address| address.is_ipv4() == other.is_ipv4())
    }
}

/// Assigns names `swp1`, `swp2` … to ports of routers without a cable.
struct PortNames {
    used: BTreeSet<(String, String)>,
    next: BTreeMap<String, usize>,
}

impl PortNames {
    fn from_cables(cables: &Cables<'_>) -> Self {
        let ends = cables.routers.iter().flat_map(|(one, other)| [*one, *other]);
        let used = ends.chain(cables.nodes.values().copied());
        Self {
            used: used.map(|(router, port)| (router.to_owned(), port.to_owned())).collect(),
            next: BTreeMap::new(),
        }
    }

    fn next(&mut self, router: &str) -> LinkName {
        let last = self.next.entry(router.to_owned()).or_default();
        loop {
            *last += 1;
            let name = format!("swp{last}");
            if !self.used.contains(&(router.to_owned(), name.clone())) {
                return LinkName::parse(&name).expect("letters and digits");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::planned_with;

    fn network(text: &'static str) -> BgpTopology {
        let (cluster, plan) = planned_with(text);
        BgpTopology::from_plan(&cluster, &plan).unwrap()
    }

    fn port(network: &BgpTopology, end: TopologyEnd) -> String {
        match &network.at(end).found {
            PeerAddress::Port { name, .. } => format!("{}:{name}", network.name(end)),
            PeerAddress::Address { address, .. } => format!("{}@{address}", network.name(end)),
        }
    }

    fn session_ends(network: &BgpTopology) -> Vec<(String, String)> {
        network
            .sessions
            .iter()
            .map(|BgpSession(one, other)| (port(network, *one), port(network, *other)))
            .collect()
    }

    #[test]
    fn ports_of_routers_are_named_by_cables_else_numbered() {
        let network = network(
            "cluster: {name: a, id: 1, talos: v1.13.9}\n\
             fabric: {routers: [{name: leaf1, asn: 65101}, {name: leaf2, asn: 65102}, {name: spine1, asn: 65200, role: spine}],\n\
             \x20 cables: [[a:fab0, leaf1:swp7], [b:fab0, leaf1:swp1]]}\n\
             routing: {backend: frr}\ndefaults: {ports: [fab0, fab1]}\n\
             nodes: [{name: a, index: 1, macs: [\"02:00:00:00:00:01\", \"02:00:00:00:00:02\"]}, {name: b, index: 2, macs: [\"02:00:00:00:00:03\", \"02:00:00:00:00:04\"]}]",
        );

        let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(
            session_ends(&network),
            [
                pair("a:fab0", "leaf1:swp7"),
                pair("a:fab1", "leaf2:swp1"),
                pair("b:fab0", "leaf1:swp1"),
                pair("b:fab1", "leaf2:swp2"),
                pair("leaf1:swp2", "spine1:swp1"),
                pair("leaf2:swp3", "spine1:swp2"),
            ]
        );
    }

    #[test]
    fn an_unlisted_router_is_shared_by_all_its_nodes() {
        let network = network(
            "cluster: {name: a, id: 1, talos: v1.13.9}\n\
             routing: {backend: frr, neighbors: [{address: \"fd00:1::fffe\", asn: 65001}]}\n\
             nodes: [{name: a, index: 1}, {name: b, index: 2}]",
        );

        let [router] = &network.routers[..] else { panic!("{:#?}", network.routers) };
        assert_eq!((router.name.as_str(), router.listed, router.peers.len()), ("fd00:1::fffe", false, 2));
        assert_eq!(
            session_ends(&network)[1],
            ("b@fd00:1::fffe".to_owned(), "fd00:1::fffe@fd00:1::2".to_owned())
        );
    }

    #[test]
    fn a_leaf_accepts_only_what_nodes_may_announce() {
        let network = network(
            "cluster: {name: a, id: 1, talos: v1.13.9}\n\
             network: {services: {pools: {default: [198.51.100.0/24]}}}\n\
             fabric: {routers: [{name: leaf1, asn: 65101}]}\n\
             routing: {backend: frr, workload: {speaker: metallb}}\n\
             nodes: [{name: a, index: 1, macs: [\"02:00:00:00:00:01\"]}]",
        );

        let admits = |net: &str| network.routers[0].accepts.admits(net.parse().unwrap());
        assert!(["10.1.254.1/32", "fd00:1:fe::1/128", "198.51.100.7/32"].into_iter().all(admits));
        assert!(!["0.0.0.0/0", "10.1.254.0/24", "10.1.0.1/32", "8.8.8.8/32"].into_iter().any(admits));
    }
}
