//! The graph of BGP speakers and sessions.
//!
//! Vertices are the nodes in the order of the [`BgpTopology`], then its routers.

use crate::plan::Plan;
use crate::routing::BgpTopology;
use crate::routing::network::{BgpSession, TopologyEnd};
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::model::{BgpModel, Family, PrefixFilter};
use ichor_bgp::setting::Software;
use ichor_values::LinkName;

/// Default local preference.
pub const PREFERENCE: u32 = 100;

/// Effects of a route's communities on its receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CommunityEffects {
    /// It is not passed on to another AS.
    pub no_export: bool,
    /// Any other route is preferred.
    pub graceful_shutdown: bool,
}

impl CommunityEffects {
    /// The effects of communities, written by name or number.
    fn from_communities<'a>(communities: impl Iterator<Item = &'a str>) -> Self {
        let mut effects = Self::default();
        for community in communities {
            match well_known(community) {
                // RFC 7999, 3.2: FRR does not pass blackhole routes on.
                Some(666 | 65281..=65283) => effects.no_export = true,
                Some(0) => effects.graceful_shutdown = true,
                _ => {}
            }
        }
        effects
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

/// A BGP speaker.
#[derive(Clone, Debug)]
pub struct Vertex {
    /// Name.
    pub name: String,
    /// Whether it is a node.
    pub node: bool,
    /// Whether it passes on received routes. Among nodes, only those with Talos' own BGP do.
    pub(crate) passes_on: bool,
    /// AS number; a unique one if it is unknown.
    pub asn: u32,
    /// Router ID.
    pub id: u32,
    /// Number of additional prepends.
    pub prepend: u8,
    /// Local preference of received routes.
    pub(crate) preference: u32,
    /// Effects of the communities on its routes.
    pub(crate) effects: CommunityEffects,
    /// Its import filter, in [`Graph::import_filters`].
    pub import_filter: usize,
    /// Whether it announces a default route to nodes.
    pub(crate) defaults: bool,
    /// Number of configured sessions.
    pub(crate) configured: usize,
    /// Its sessions that come up, each with the other end.
    pub edges: Vec<(u32, u32)>,
    /// Those whose other end passes on received routes.
    pub(crate) transit_edges: Vec<(u32, u32)>,
    /// The other ends of its sessions that do not come up.
    pub down_peers: Vec<u32>,
}

/// A session that comes up.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Its ends.
    pub ends: (u32, u32),
    /// Whether it carries IPv4 and IPv6.
    pub(crate) carries: [bool; 2],
    /// Its number in the topology.
    pub session: usize,
    /// Its link, in [`Graph::links`].
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

/// A link whose failure closes its sessions: a node's link, or a cable between routers.
#[derive(Clone, Debug)]
pub struct GraphLink {
    /// Its name on the node; none between routers.
    pub port: Option<LinkName>,
    /// Its sessions.
    pub edges: Vec<u32>,
}

/// BGP speakers and the sessions that come up.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Nodes, then routers.
    pub vertices: Vec<Vertex>,
    /// Number of nodes.
    pub nodes: usize,
    /// Sessions that come up.
    pub edges: Vec<Edge>,
    /// Links of the sessions.
    pub links: Vec<GraphLink>,
    /// The distinct import filters.
    pub(crate) import_filters: Vec<PrefixFilter>,
}

impl Graph {
    /// Builds the graph of a topology with the sessions for which `up` returns true.
    pub fn build(network: &BgpTopology, plan: &Plan, up: impl Fn(usize) -> bool) -> Self {
        let mut import_filters = vec![PrefixFilter::allowing(&[])];
        let mut filter_number = |filter: &PrefixFilter| {
            import_filters.iter().position(|known| known == filter).unwrap_or_else(|| {
                import_filters.push(filter.clone());
                import_filters.len() - 1
            })
        };
        let mut vertices: Vec<Vertex> = network
            .nodes
            .iter()
            .map(|model| node(model, filter_number(&model.fabric.inward.filter)))
            .collect();
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
                effects: CommunityEffects::default(),
                import_filter: if written { filter_number(&router.accepts) } else { 0 },
                defaults: written,
                configured: router.peers.len(),
                edges: Vec::new(),
                transit_edges: Vec::new(),
                down_peers: Vec::new(),
            });
        }
        let mut graph = Self { vertices, nodes, edges: Vec::new(), links: Vec::new(), import_filters };
        for (session, ends) in network.sessions.iter().enumerate() {
            if up(session) {
                graph.connect(network, plan, session, *ends);
            } else {
                let (one, other) = (graph.vertex(ends.0), graph.vertex(ends.1));
                graph.vertices[one as usize].down_peers.push(other);
                graph.vertices[other as usize].down_peers.push(one);
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
                vertex.transit_edges.push((edge, far));
            }
        }
    }

    /// Assigns a session to a link. Sessions over the same port of a node share one.
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

    /// The link of a node by name, if it has a session.
    pub(crate) fn link_of(&self, node: u32, port: &LinkName) -> Option<u32> {
        let edges = self.vertices[node as usize].edges.iter();
        let mut links = edges.map(|(edge, _)| self.edges[*edge as usize].link);
        links.find(|link| self.links[*link as usize].port.as_ref() == Some(port))
    }

    /// The vertex at an end of a session.
    pub fn vertex(&self, end: TopologyEnd) -> u32 {
        let nth = match end {
            TopologyEnd::Node(node, _) => node,
            TopologyEnd::Router(router, _) => self.nodes + router,
        };
        u32::try_from(nth).expect("fewer nodes than 2^32")
    }

    /// Sessions over which a node accepts a default route, each with the router that announces it.
    pub fn defaults(&self, node: u32, family: Family) -> impl Iterator<Item = (u32, u32)> {
        let vertex = &self.vertices[node as usize];
        let takes = self.import_filters[vertex.import_filter].admits(family.everything());
        let gives = move |(edge, far): &(u32, u32)| {
            takes && self.edges[*edge as usize].carries(family) && self.vertices[*far as usize].defaults
        };
        vertex.edges.iter().copied().filter(gives)
    }

    /// Whether results for one family apply to the other: every session carries both, and every filter accepts both default
    /// routes or neither.
    pub(crate) fn is_alike_for_both_families(&self) -> bool {
        let [v4, v6] = Family::ALL.map(Family::everything);
        self.edges.iter().all(|edge| edge.carries[0] == edge.carries[1])
            && self.import_filters.iter().all(|filter| filter.admits(v4) == filter.admits(v6))
    }

    /// Whether any node passes on received routes.
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
        PeerAddress::Port { name, .. } => plan.base_link(name),
        PeerAddress::Address { address, .. } => plan.link_to(*address),
    };
    Some(link.clone())
}

fn node(model: &BgpModel, import_filter: usize) -> Vertex {
    let outward = &model.fabric.outward;
    Vertex {
        name: model.name.to_string(),
        node: true,
        passes_on: model.transit,
        asn: model.asn.0,
        id: u32::from(model.router_id),
        prepend: outward.prepend,
        preference: model.fabric.inward.local_preference.unwrap_or(PREFERENCE),
        effects: CommunityEffects::from_communities(
            outward.communities.iter().map(|community| community.as_str()),
        ),
        import_filter,
        defaults: false,
        configured: model.fabric.neighbors.len(),
        edges: Vec::new(),
        transit_edges: Vec::new(),
        down_peers: Vec::new(),
    }
}
