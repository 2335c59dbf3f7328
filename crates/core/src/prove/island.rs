//! Which routers still hang together, whatever BGP makes of it.
//!
//! No node is meant to be transit, so only routers connect. What is lost although a way is left is a fault of the routing; what is
//! lost because no way is left was never wired twice.

use super::graph::Graph;
use super::spread::Propagation;

/// The islands of routers.
pub(crate) struct Components {
    /// By router: the number of its island.
    of: Vec<u32>,
    first: usize,
}

impl Components {
    /// Those that are left now.
    pub fn of(graph: &Graph, spread: &Propagation<'_>) -> Self {
        let count = graph.vertices.len() - graph.nodes;
        let mut islands = Self { of: vec![u32::MAX; count], first: graph.nodes };
        for router in graph.routers().filter(|router| !spread.is_down(*router)) {
            if islands.number(router) == u32::MAX {
                islands.fill(graph, spread, router);
            }
        }
        islands
    }

    fn fill(&mut self, graph: &Graph, spread: &Propagation<'_>, start: u32) {
        let mut waiting = vec![start];
        while let Some(router) = waiting.pop() {
            self.of[router as usize - self.first] = start;
            for (edge, far) in &graph.vertices[router as usize].trunks {
                if self.is_router(*far) && spread.is_up(*edge) && self.number(*far) == u32::MAX {
                    waiting.push(*far);
                }
            }
        }
    }

    fn is_router(&self, vertex: u32) -> bool {
        vertex as usize >= self.first
    }

    fn number(&self, router: u32) -> u32 {
        self.of[router as usize - self.first]
    }

    /// The islands that someone is on, or can step onto.
    fn around(&self, graph: &Graph, spread: &Propagation<'_>, vertex: u32) -> Vec<u32> {
        if self.is_router(vertex) {
            return vec![self.number(vertex)];
        }
        let edges = graph.vertices[vertex as usize].edges.iter();
        edges.filter(|(edge, _)| spread.is_up(*edge)).map(|(_, router)| self.number(*router)).collect()
    }

    /// Whether any way is left from someone to the destination of `spread`.
    pub(crate) fn connect(&self, graph: &Graph, spread: &Propagation<'_>, vertex: u32) -> bool {
        let here = self.around(graph, spread, vertex);
        spread.givers().any(|giver| {
            giver == vertex || self.around(graph, spread, giver).iter().any(|there| here.contains(there))
        })
    }
}
