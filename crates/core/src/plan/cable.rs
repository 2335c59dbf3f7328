//! The cables in the file.

use std::collections::BTreeMap;

use crate::model::Cluster;

/// One end of a cable: node or router, and port.
pub type CablePort<'a> = (&'a str, &'a str);

/// Cables by kind of their ends.
#[derive(Debug)]
pub struct Cables<'a> {
    /// Between two routers.
    pub routers: Vec<(CablePort<'a>, CablePort<'a>)>,
    /// Between a node, by its number and port, and a router.
    pub nodes: BTreeMap<(usize, &'a str), CablePort<'a>>,
}

impl<'a> Cables<'a> {
    /// Reads the cables of a cluster.
    pub fn from_cluster(cluster: &'a Cluster) -> Self {
        let mut cables = Self { routers: Vec::new(), nodes: BTreeMap::new() };
        let fabric = cluster.file.fabric.get();
        for pair in fabric.into_iter().flat_map(|fabric| fabric.cables.values()) {
            let (one, other) = (pair.0.value.parts(), pair.1.value.parts());
            match (cluster.node(one.0), cluster.node(other.0)) {
                (Some(node), None) => drop(cables.nodes.insert((node, one.1), other)),
                (None, Some(node)) => drop(cables.nodes.insert((node, other.1), one)),
                (None, None) => cables.routers.push((one, other)),
                // Nodes have no sessions with each other.
                (Some(_), Some(_)) => {}
            }
        }
        cables
    }

    /// The cables of node `nth`: its port and the remote end.
    pub(crate) fn node_cables(&self, nth: usize) -> impl Iterator<Item = (&'a str, CablePort<'a>)> {
        self.nodes.range((nth, "")..(nth + 1, "")).map(|((_, port), far)| (*port, *far))
    }
}
