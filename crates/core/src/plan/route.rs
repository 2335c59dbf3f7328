//! Nodes that route alike: BGP is planned once for all of them, whatever machines they are.

use std::sync::Arc;

use super::RoutingPlan;
use super::alike::{Classes, address};
use super::routing::{self, RoutingInputs};
use crate::cluster::section::{Role, Routing};
use ichor_values::key::Key;
use ichor_values::{LinkName, TalosVersion};

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
pub(crate) struct Routes {
    /// In the order in which the first of each stands in the file.
    pub(crate) planned: Vec<RoutedNodes>,
    classes: Classes<RoutingClass>,
}

impl Routes {
    /// The BGP of node `nth`. All `inputs` seen must live as long as this.
    pub fn plan(&mut self, nth: usize, inputs: RoutingInputs<'_>) -> Arc<RoutingPlan> {
        let number = self.classes.number(RoutingClass::of(inputs));
        if number == self.planned.len() {
            let (asn, router_id) = (Key::default(), Key::default());
            let shared = Routing { asn, router_id, ..inputs.routing.clone() };
            let routing = Arc::new(routing::plan(RoutingInputs { routing: &shared, ..inputs }));
            self.planned.push(RoutedNodes { routing, nodes: Vec::new() });
        }
        let alike = &mut self.planned[number];
        alike.nodes.push(nth);
        Arc::clone(&alike.routing)
    }
}

/// Nodes are planned together where this is the same: every input of a plan.
///
/// Nothing is left out of the patterns below, so a new input or key does not compile before it is here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RoutingClass {
    ports: Vec<LinkName>,
    role: Role,
    talos: TalosVersion,
    health: bool,
    more: bool,
    keys: [usize; 13],
}

impl RoutingClass {
    fn of(inputs: RoutingInputs<'_>) -> Self {
        // All nodes are of one cluster.
        let RoutingInputs { cluster: _, routing, ports, role, talos, health, more } = inputs;
        let (ports, talos) = (ports.to_vec(), talos.clone());
        Self { ports, role, talos, health, more, keys: keys(routing) }
    }
}

/// The keys that a plan may read; the other two are taken away before.
fn keys(routing: &Routing) -> [usize; 13] {
    let Routing {
        asn: _,
        router_id: _,
        backend,
        carrier,
        version,
        service,
        advertise,
        aggregates,
        neighbors,
        policy,
        graceful_restart,
        workload,
        template,
        daemons,
        agent,
    } = routing;
    [
        address(backend),
        address(carrier),
        address(version),
        address(service),
        address(advertise),
        address(aggregates),
        address(neighbors),
        address(policy),
        address(graceful_restart),
        address(workload),
        address(template),
        address(daemons),
        address(agent),
    ]
}
