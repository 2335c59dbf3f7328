//! Failures: of a node, a router, a link with its sessions, a speaker.

use std::borrow::Cow;

use super::graph::{Graph, GraphLink};
use crate::routing::BgpTopology;
use crate::routing::network::{BgpSession, TopologyEnd};
use ichor_bgp::model::fabric::PeerAddress;

/// A failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// A node or router.
    Vertex(u32),
    /// A link, with every session over it.
    Link(u32),
    /// Every session between two, without other sessions over the same links.
    Between(u32, u32),
    /// The speaker on a node.
    Speaker(u32),
}

/// All single failures: routers, nodes, links, speakers.
pub(crate) fn all_failures(graph: &Graph, network: &BgpTopology) -> Vec<Failure> {
    let nodes = (0..).take(graph.nodes);
    let links = (0..).take(graph.links.len());
    let speakers = (0..).zip(&network.nodes).filter(|(_, model)| model.workload.is_some());
    graph
        .routers()
        .chain(nodes)
        .map(Failure::Vertex)
        .chain(links.map(Failure::Link))
        .chain(speakers.map(|(nth, _)| Failure::Speaker(nth)))
        .collect()
}

impl Failure {
    /// All sessions between two, by their names: `cp1:leaf1`. If these are all sessions of one link, it is the failure of that
    /// link.
    pub(crate) fn between(name: &str, graph: &Graph) -> Option<Self> {
        let (one, other) = name.split_once(':')?;
        let called = |name: &str| {
            let named = graph.vertices.iter().zip(0..).filter(move |(vertex, _)| vertex.name == name);
            named.map(|(_, nth)| nth).next()
        };
        let between = Self::Between(called(one)?, called(other)?);
        let edges = between.edges(graph);
        let link = graph.edges[*edges.first()? as usize].link;
        let is_link = graph.links[link as usize].edges == *edges;
        Some(if is_link { Self::Link(link) } else { between })
    }

    /// The failed sessions of a link; empty for nodes, routers and speakers.
    pub fn edges(self, graph: &Graph) -> Cow<'_, [u32]> {
        match self {
            Self::Link(link) => Cow::Borrowed(&graph.links[link as usize].edges),
            Self::Between(one, other) => {
                let edges = graph.vertices[one as usize].edges.iter();
                edges.filter(|(_, far)| *far == other).map(|(edge, _)| *edge).collect()
            }
            Self::Vertex(_) | Self::Speaker(_) => Cow::default(),
        }
    }

    /// Its name: `leaf1`, `cp1:fab0`, `cp1:leaf1`, `cp1:metallb`.
    pub fn name(self, graph: &Graph, network: &BgpTopology) -> String {
        let named = |vertex: u32| graph.vertices[vertex as usize].name.as_str();
        match self {
            Self::Vertex(vertex) => named(vertex).to_owned(),
            Self::Link(link) => link_name(&graph.links[link as usize], graph, network),
            Self::Between(one, other) => format!("{}:{}", named(one), named(other)),
            Self::Speaker(node) => {
                let model = &network.nodes[node as usize];
                let speaker = model.workload.as_ref().map(|workload| workload.speaker.to_string());
                format!("{}:{}", model.name, speaker.unwrap_or_default())
            }
        }
    }

    /// Whether this is one of its names: a link may be named after the port at either end.
    pub(crate) fn has_name(self, name: &str, graph: &Graph, network: &BgpTopology) -> bool {
        let at_an_end = |edge: u32| {
            let BgpSession(one, other) = network.sessions[graph.edges[edge as usize].session];
            [one, other].into_iter().any(|end| end_name(network, end).is_some_and(|known| known == name))
        };
        self.name(graph, network) == name
            || matches!(self, Self::Link(_)) && self.edges(graph).iter().copied().any(at_an_end)
    }

    /// The node it concerns, if any.
    pub fn node(self, graph: &Graph) -> Option<u32> {
        let node = match self {
            Self::Vertex(vertex) => vertex,
            Self::Link(link) => graph.edges[graph.links[link as usize].edges[0] as usize].ends.0,
            Self::Between(one, other) => one.min(other),
            Self::Speaker(node) => node,
        };
        ((node as usize) < graph.nodes).then_some(node)
    }

    /// Kind of the failed component.
    pub fn kind(self, graph: &Graph) -> &'static str {
        match self {
            Self::Vertex(vertex) if graph.vertices[vertex as usize].node => "node",
            Self::Vertex(_) => "router",
            Self::Link(_) | Self::Between(..) => "link",
            Self::Speaker(_) => "speaker",
        }
    }
}

fn link_name(link: &GraphLink, graph: &Graph, network: &BgpTopology) -> String {
    let edge = &graph.edges[link.edges[0] as usize];
    let BgpSession(one, _) = network.sessions[edge.session];
    match &link.port {
        Some(port) => format!("{}:{port}", network.name(one)),
        None => end_name(network, one).unwrap_or_default(),
    }
}

/// The port at an end of a session; none if the session is numbered.
fn end_name(network: &BgpTopology, end: TopologyEnd) -> Option<String> {
    match &network.at(end).found {
        PeerAddress::Port { name, .. } => Some(format!("{}:{name}", network.name(end))),
        PeerAddress::Address { .. } => None,
    }
}
