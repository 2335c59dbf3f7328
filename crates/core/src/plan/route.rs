//! Nodes that route alike: BGP is planned once for all of them, whatever kinds of machines they are.

use std::sync::Arc;

use super::alike::{Alike, id};
use super::{Port, RoutingPlan, announced, routing};
use crate::cluster::section::{Role, Routing, Rung};
use crate::model::Cluster;
use ichor_values::TalosVersion;

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
    alike: Alike<19>,
}

impl Routes {
    /// The BGP of node `nth`, if it routes. All `settings` seen must live as long as this.
    pub fn plan(
        &mut self,
        cluster: &Cluster,
        nth: usize,
        settings: &Rung,
        role: Role,
        ports: &[Port],
        talos: &TalosVersion,
    ) -> Option<Arc<RoutingPlan>> {
        let routing = settings.routing.get()?;
        let number = self.alike.number(mark(routing, settings, role, ports));
        if number == self.planned.len() {
            let routing = Arc::new(routing::plan(cluster, routing, settings, role, ports, talos));
            self.planned.push(RoutedNodes { routing, nodes: Vec::new() });
        }
        let alike = &mut self.planned[number];
        alike.nodes.push(nth);
        Some(Arc::clone(&alike.routing))
    }
}

/// All that a plan depends on.
fn mark(routing: &Routing, settings: &Rung, role: Role, ports: &[Port]) -> [usize; 19] {
    [
        role as usize,
        ports.len(),
        id(&settings.ports),
        id(&settings.talos),
        usize::from(announced::has_more(settings, role, routing)),
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
