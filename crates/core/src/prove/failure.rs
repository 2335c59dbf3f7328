//! What can be taken away: a node, a router, a session's link, a speaker.

use super::graph::Graph;
use crate::routing::Network;
use crate::routing::fabric::Found;
use crate::routing::network::{End, Session};

/// One thing that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// A node or router.
    Vertex(u32),
    /// The link of a session.
    Edge(u32),
    /// The speaker on a node.
    Speaker(u32),
}

/// Everything that can fail: routers, nodes, links, speakers.
pub fn all(graph: &Graph, network: &Network) -> Vec<Failure> {
    let nodes = (0..).take(graph.nodes);
    let edges = (0..).take(graph.edges.len());
    let speakers = (0..).zip(&network.nodes).filter(|(_, model)| model.workload.is_some());
    graph
        .routers()
        .chain(nodes)
        .map(Failure::Vertex)
        .chain(edges.map(Failure::Edge))
        .chain(speakers.map(|(nth, _)| Failure::Speaker(nth)))
        .collect()
}

impl Failure {
    /// What it is called: `leaf1`, `cp1:fab0`, `cp1:metallb`.
    pub fn name(self, graph: &Graph, network: &Network) -> String {
        match self {
            Self::Vertex(vertex) => graph.vertices[vertex as usize].name.clone(),
            Self::Edge(edge) => {
                let Session(one, other) = network.sessions[graph.edges[edge as usize].session];
                end_name(network, one, other)
            }
            Self::Speaker(node) => {
                let model = &network.nodes[node as usize];
                let speaker = model.workload.as_ref().map(|workload| workload.speaker.to_string());
                format!("{}:{}", model.name, speaker.unwrap_or_default())
            }
        }
    }

    /// Whether it is known by this name too: a link by either of its ends, with the port or the far end's name.
    pub fn is_called(self, name: &str, graph: &Graph, network: &Network) -> bool {
        match self {
            Self::Edge(edge) => {
                let Session(one, other) = network.sessions[graph.edges[edge as usize].session];
                let between = |one, other| format!("{}:{}", network.name(one), network.name(other));
                [
                    end_name(network, one, other),
                    end_name(network, other, one),
                    between(one, other),
                    between(other, one),
                ]
                .iter()
                .any(|known| known == name)
            }
            Self::Vertex(_) | Self::Speaker(_) => self.name(graph, network) == name,
        }
    }

    /// The node it is of, if it is of one.
    pub fn node(self, graph: &Graph) -> Option<u32> {
        let node = match self {
            Self::Vertex(vertex) => vertex,
            Self::Edge(edge) => graph.edges[edge as usize].ends.0,
            Self::Speaker(node) => node,
        };
        ((node as usize) < graph.nodes).then_some(node)
    }

    /// What kind of thing it is.
    pub fn kind(self, graph: &Graph) -> &'static str {
        match self {
            Self::Vertex(vertex) if graph.vertices[vertex as usize].node => "node",
            Self::Vertex(_) => "router",
            Self::Edge(_) => "link",
            Self::Speaker(_) => "speaker",
        }
    }
}

fn end_name(network: &Network, near: End, far: End) -> String {
    match &network.at(near).found {
        Found::Port { name, .. } => format!("{}:{name}", network.name(near)),
        Found::Address { .. } => format!("{}:{}", network.name(near), network.name(far)),
    }
}
