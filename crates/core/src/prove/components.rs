//! Connected components of routers, independent of BGP.
//!
//! Nodes provide no transit, so only routers connect components. A route lost within a component is a fault of the routing;
//! between components it is a lack of redundant links.

use super::graph::Graph;
use super::propagation::Propagation;

/// The connected components of routers.
pub(crate) struct Components {
    /// The component number of each router.
    by_router: Vec<u32>,
    first: usize,
}

impl Components {
    /// The components in the current state.
    pub fn find(graph: &Graph, propagation: &Propagation<'_>) -> Self {
        let count = graph.vertices.len() - graph.nodes;
        let mut components = Self { by_router: vec![u32::MAX; count], first: graph.nodes };
        for router in graph.routers().filter(|router| !propagation.is_down(*router)) {
            if components.number(router) == u32::MAX {
                components.mark_component(graph, propagation, router);
            }
        }
        components
    }

    fn mark_component(&mut self, graph: &Graph, propagation: &Propagation<'_>, start: u32) {
        let mut queue = vec![start];
        while let Some(router) = queue.pop() {
            self.by_router[router as usize - self.first] = start;
            for (edge, far) in &graph.vertices[router as usize].transit_edges {
                if self.is_router(*far) && propagation.is_up(*edge) && self.number(*far) == u32::MAX {
                    queue.push(*far);
                }
            }
        }
    }

    fn is_router(&self, vertex: u32) -> bool {
        vertex as usize >= self.first
    }

    fn number(&self, router: u32) -> u32 {
        self.by_router[router as usize - self.first]
    }

    /// The component of a router, or those that a node is connected to.
    fn adjacent(&self, graph: &Graph, propagation: &Propagation<'_>, vertex: u32) -> Vec<u32> {
        if self.is_router(vertex) {
            return vec![self.number(vertex)];
        }
        let edges = graph.vertices[vertex as usize].edges.iter();
        edges.filter(|(edge, _)| propagation.is_up(*edge)).map(|(_, router)| self.number(*router)).collect()
    }

    /// Whether a node or router is connected to an origin of the destination.
    pub(crate) fn connect(&self, graph: &Graph, propagation: &Propagation<'_>, vertex: u32) -> bool {
        let reachable = self.adjacent(graph, propagation, vertex);
        propagation.active_origins().any(|origin| {
            origin == vertex
                || self
                    .adjacent(graph, propagation, origin)
                    .iter()
                    .any(|component| reachable.contains(component))
        })
    }
}
