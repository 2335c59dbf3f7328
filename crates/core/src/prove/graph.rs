//! The fabric as the proof sees it: who speaks BGP, and which sessions there are.
//!
//! Nodes come first, in the order of the [`Network`], then its routers.

use crate::plan::Plan;
use crate::routing::BgpTopology;
use crate::routing::network::{BgpSession, TopologyEnd};
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::model::{BgpModel, Family, PrefixFilter};
use ichor_bgp::setting::Software;
use ichor_values::LinkName;

/// Local preference where nobody sets another.
pub const PREFERENCE: u32 = 100;

/// What communities on a route ask of everyone who takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CommunityEffects {
    /// Not to pass it on to another AS.
    pub kept: bool,
    /// To take any other way instead, if there is one.
    pub leaving: bool,
}

impl CommunityEffects {
    /// Those of a route with these communities, by name or by number.
    fn of<'a>(communities: impl Iterator<Item = &'a str>) -> Self {
        let mut marks = Self::default();
        for community in communities {
            match well_known(community) {
                // RFC 7999, 3.2: FRR keeps what shall be dropped.
                Some(666 | 65281..=65283) => marks.kept = true,
                Some(0) => marks.leaving = true,
                _ => {}
            }
        }
        marks
    }
}

/// The second half of a community's number, if its first is 65535.
fn well_known(community: &str) -> Option<u16> {
    match community {
        "graceful-shutdown" => Some(0),
        "blackhole" => Some(666),
        "no-export" => Some(65281),
        "no-advertise" => Some(65282),
        "local-as" => Some(65283),
        _ => match community.split_once(':')? {
            (first, second) if first.parse() == Ok(u16::MAX) => second.parse().ok(),
            _ => None,
        },
    }
}

/// Someone who speaks BGP.
#[derive(Clone, Debug)]
pub struct Vertex {
    /// Name.
    pub name: String,
    /// Whether it is a node.
    pub node: bool,
    /// Whether it passes on what it has from others. A node does not, unless Talos itself speaks for it.
    pub(crate) passes_on: bool,
    /// AS number; one that nobody else has where it is not known.
    pub asn: u32,
    /// Router id.
    pub id: u32,
    /// How often it puts its AS number in front once more.
    pub prepend: u8,
    /// The local preference it gives to what comes in.
    pub(crate) preference: u32,
    /// What its communities ask of others.
    pub(crate) marks: CommunityEffects,
    /// Which of [`Graph::gates`] it has toward what comes in.
    pub gate: usize,
    /// Whether it gives nodes a default route.
    pub(crate) defaults: bool,
    /// How many sessions it shall have.
    pub(crate) meant: usize,
    /// Its sessions, each with who is at the other end.
    pub edges: Vec<(u32, u32)>,
    /// Those of them with somebody who passes on what others say.
    pub(crate) trunks: Vec<(u32, u32)>,
    /// Who is at the other end of its sessions that do not come up.
    pub cut: Vec<u32>,
}

/// A session that comes up.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Its ends.
    pub ends: (u32, u32),
    /// Whether it carries IPv4 and IPv6.
    pub(crate) carries: [bool; 2],
    /// Which of the network's sessions it is.
    pub session: usize,
    /// Which of [`Graph::links`] it goes over.
    pub link: u32,
}

impl Edge {
    /// Whether it carries a family.
    pub(crate) fn carries(&self, family: Family) -> bool {
        self.carries[family as usize]
    }

    /// The end that is not `one`.
    pub fn other(&self, one: u32) -> u32 {
        if self.ends.0 == one { self.ends.1 } else { self.ends.0 }
    }
}

/// What sessions go over, and fail with: the link of a node, or a cable between routers.
#[derive(Clone, Debug)]
pub struct GraphLink {
    /// The node's own name for it; none between routers.
    pub port: Option<LinkName>,
    /// Its sessions.
    pub edges: Vec<u32>,
}

/// Everyone, and the sessions that come up.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Everyone.
    pub vertices: Vec<Vertex>,
    /// How many of them are nodes: the first ones.
    pub nodes: usize,
    /// Sessions.
    pub edges: Vec<Edge>,
    /// What they go over.
    pub links: Vec<GraphLink>,
    /// The different filters there are on what comes in.
    pub(crate) gates: Vec<PrefixFilter>,
}

impl Graph {
    /// The graph of a network, with the sessions of which `up` says so.
    pub fn of(network: &BgpTopology, plan: &Plan, up: impl Fn(usize) -> bool) -> Self {
        let mut gates = vec![PrefixFilter::allowing(&[])];
        let mut gate = |filter: &PrefixFilter| {
            gates.iter().position(|known| known == filter).unwrap_or_else(|| {
                gates.push(filter.clone());
                gates.len() - 1
            })
        };
        let mut vertices: Vec<Vertex> =
            network.nodes.iter().map(|model| node(model, gate(&model.fabric.inward.filter))).collect();
        let nodes = vertices.len();
        for (nth, router) in network.routers.iter().enumerate() {
            let written = router.listed && router.software != Software::Other;
            let unknown = u32::MAX - u32::try_from(nth).unwrap_or_default();
            vertices.push(Vertex {
                name: router.name.clone(),
                node: false,
                passes_on: true,
                asn: router.asn.map_or(unknown, |asn| asn.0),
                id: u32::from(router.router_id),
                prepend: 0,
                preference: PREFERENCE,
                marks: CommunityEffects::default(),
                gate: if written { gate(&router.accepts) } else { 0 },
                defaults: written,
                meant: router.peers.len(),
                edges: Vec::new(),
                trunks: Vec::new(),
                cut: Vec::new(),
            });
        }
        let mut graph = Self { vertices, nodes, edges: Vec::new(), links: Vec::new(), gates };
        for (session, ends) in network.sessions.iter().enumerate() {
            if up(session) {
                graph.connect(network, plan, session, *ends);
            } else {
                let (one, other) = (graph.vertex(ends.0), graph.vertex(ends.1));
                graph.vertices[one as usize].cut.push(other);
                graph.vertices[other as usize].cut.push(one);
            }
        }
        graph
    }

    fn connect(
        &mut self,
        network: &BgpTopology,
        plan: &Plan,
        session: usize,
        BgpSession(one, other): BgpSession,
    ) {
        let (first, second) = (self.vertex(one), self.vertex(other));
        let both = |family| {
            network.at(one).families.contains(&family) && network.at(other).families.contains(&family)
        };
        let edge = u32::try_from(self.edges.len()).expect("fewer sessions than 2^32");
        let link = self.link(first, port(network, plan, one), edge);
        self.edges.push(Edge { ends: (first, second), carries: Family::ALL.map(both), session, link });
        for (near, far) in [(first, second), (second, first)] {
            let passes_on = self.vertices[far as usize].passes_on;
            let vertex = &mut self.vertices[near as usize];
            vertex.edges.push((edge, far));
            if passes_on {
                vertex.trunks.push((edge, far));
            }
        }
    }

    /// Puts a session onto a link: the one of the same port of the same node, if others go over it.
    fn link(&mut self, vertex: u32, port: Option<LinkName>, edge: u32) -> u32 {
        let others =
            self.vertices[vertex as usize].edges.iter().map(|(edge, _)| self.edges[*edge as usize].link);
        let same = |link: &u32| port.is_some() && self.links[*link as usize].port == port;
        let known = others.into_iter().find(same);
        let nth = known.unwrap_or_else(|| {
            self.links.push(GraphLink { port, edges: Vec::new() });
            u32::try_from(self.links.len() - 1).expect("fewer links than 2^32")
        });
        self.links[nth as usize].edges.push(edge);
        nth
    }

    /// The link of a node by its name there, if a session goes over it.
    pub(crate) fn link_of(&self, node: u32, port: &LinkName) -> Option<u32> {
        let edges = self.vertices[node as usize].edges.iter();
        let mut links = edges.map(|(edge, _)| self.edges[*edge as usize].link);
        links.find(|link| self.links[*link as usize].port.as_ref() == Some(port))
    }

    /// Who is at an end of a session.
    pub fn vertex(&self, end: TopologyEnd) -> u32 {
        let nth = match end {
            TopologyEnd::Node(node, _) => node,
            TopologyEnd::Router(router, _) => self.nodes + router,
        };
        u32::try_from(nth).expect("fewer nodes than 2^32")
    }

    /// Sessions over which a node takes a default route, each with the router that gives it.
    pub fn defaults(&self, node: u32, family: Family) -> impl Iterator<Item = (u32, u32)> {
        let vertex = &self.vertices[node as usize];
        let takes = self.gates[vertex.gate].admits(family.everything());
        let gives = move |(edge, far): &(u32, u32)| {
            takes && self.edges[*edge as usize].carries(family) && self.vertices[*far as usize].defaults
        };
        vertex.edges.iter().copied().filter(gives)
    }

    /// Whether what holds for a prefix of one family holds for the other's: no session carries one of them alone, and nobody
    /// takes one default route alone.
    pub(crate) fn is_alike_for_both_families(&self) -> bool {
        let [v4, v6] = Family::ALL.map(Family::everything);
        self.edges.iter().all(|edge| edge.carries[0] == edge.carries[1])
            && self.gates.iter().all(|gate| gate.admits(v4) == gate.admits(v6))
    }

    /// Whether any node passes on what it has from others.
    pub(crate) fn has_transit(&self) -> bool {
        self.vertices[..self.nodes].iter().any(|node| node.passes_on)
    }

    /// All routers.
    pub fn routers(&self) -> impl Iterator<Item = u32> {
        let first = u32::try_from(self.nodes).expect("fewer nodes than 2^32");
        (first..).take(self.vertices.len() - self.nodes)
    }
}

/// The link of a node that a session goes over, below all VLANs.
fn port(network: &BgpTopology, plan: &Plan, end: TopologyEnd) -> Option<LinkName> {
    let TopologyEnd::Node(node, _) = end else { return None };
    let plan = &plan.nodes[network.nodes[node].nth];
    let link = match &network.at(end).found {
        PeerAddress::Port { name, .. } => plan.below_vlans(name),
        PeerAddress::Address { address, .. } => plan.link_toward(*address),
    };
    Some(link.clone())
}

fn node(model: &BgpModel, gate: usize) -> Vertex {
    let outward = &model.fabric.outward;
    Vertex {
        name: model.name.to_string(),
        node: true,
        passes_on: model.transit,
        asn: model.asn.0,
        id: u32::from(model.router_id),
        prepend: outward.prepend,
        preference: model.fabric.inward.local_preference.unwrap_or(PREFERENCE),
        marks: CommunityEffects::of(outward.communities.iter().map(|community| community.as_str())),
        gate,
        defaults: false,
        meant: model.fabric.neighbors.len(),
        edges: Vec::new(),
        trunks: Vec::new(),
        cut: Vec::new(),
    }
}
