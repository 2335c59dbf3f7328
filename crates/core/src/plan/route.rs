//! Nodes that route alike: BGP is planned once for all of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Port, RoutingPlan, routing};
use crate::cluster::key::Key;
use crate::cluster::section::{Role, Routing, Rung};
use crate::cluster::value::TalosVersion;
use crate::model::Cluster;

/// Nodes that share everything about BGP but AS number, router id and addresses.
#[derive(Debug)]
pub struct RoutedNodes {
    /// What they share.
    pub routing: Arc<RoutingPlan>,
    /// Their numbers, in the order of the file; never empty.
    pub nodes: Vec<usize>,
}

/// Plans BGP node by node, each difference once.
#[derive(Default)]
pub struct Routes {
    /// In the order in which the first of each stands in the file.
    pub planned: Vec<RoutedNodes>,
    known: HashMap<Mark, usize>,
    last: Option<(Mark, usize)>,
}

type Mark = [usize; 18];

impl Routes {
    /// The BGP of node `nth`, if it routes.
    ///
    /// All `settings` seen must live as long as this: nodes are told apart by where theirs lie in memory.
    pub fn plan(
        &mut self,
        cluster: &Cluster,
        nth: usize,
        settings: &Rung,
        role: Role,
        ports: &[Port],
        talos: &TalosVersion,
    ) -> Option<Arc<RoutingPlan>> {
        let mark = mark(settings.routing.get()?, settings, role, ports);
        let seen = match &self.last {
            Some((same, at)) if *same == mark => Some(*at),
            _ => self.known.get(&mark).copied(),
        };
        let at = match seen {
            Some(at) => at,
            None => {
                let routing = Arc::new(routing::plan(cluster, settings, role, ports, talos)?);
                self.planned.push(RoutedNodes { routing, nodes: Vec::new() });
                self.known.insert(mark, self.planned.len() - 1);
                self.planned.len() - 1
            }
        };
        self.last = Some((mark, at));
        let alike = &mut self.planned[at];
        alike.nodes.push(nth);
        Some(Arc::clone(&alike.routing))
    }
}

/// Where a value lies in memory: rungs share what they do not change.
fn id<T>(key: &Key<T>) -> usize {
    key.get().map_or(0, |value| std::ptr::from_ref(value).addr())
}

/// All that a plan depends on.
fn mark(routing: &Routing, settings: &Rung, role: Role, ports: &[Port]) -> Mark {
    [
        role as usize,
        ports.len(),
        id(&settings.ports),
        id(&settings.talos),
        settings.network.get().map_or(0, |network| id(&network.api)),
        id(&routing.backend),
        id(&routing.carrier),
        id(&routing.version),
        id(&routing.service),
        id(&routing.advertise),
        id(&routing.aggregates),
        id(&routing.neighbors),
        id(&routing.policy),
        id(&routing.graceful_restart),
        id(&routing.workload),
        id(&routing.template),
        id(&routing.daemons),
        id(&routing.agent),
    ]
}
