//! Groups of nodes with the same BGP settings, which are planned once for all of them.

use std::sync::Arc;

use super::RoutingPlan;
use super::alike::{Interner, address};
use super::routing::{self, RoutingInputs};
use crate::cluster::section::{Role, Routing};
use ichor_values::key::Key;
use ichor_values::{LinkName, TalosVersion};

/// Nodes whose BGP settings differ only in AS number, router ID and addresses.
#[derive(Debug)]
pub struct BgpGroup {
    /// The shared settings.
    pub routing: Arc<RoutingPlan>,
    /// Their numbers, in the order of the file; never empty.
    pub nodes: Vec<usize>,
}

/// Plans BGP once for each group of nodes.
#[derive(Default)]
pub(crate) struct BgpPlanner {
    /// The groups, in the order of the first node of each.
    pub(crate) planned: Vec<BgpGroup>,
    classes: Interner<BgpFingerprint>,
}

impl BgpPlanner {
    /// Returns the BGP settings of node `nth`. All `inputs` must live as long as the planner.
    pub fn plan(&mut self, nth: usize, inputs: RoutingInputs<'_>) -> Arc<RoutingPlan> {
        let number = self.classes.number(BgpFingerprint::of(inputs));
        if number == self.planned.len() {
            let (asn, router_id) = (Key::default(), Key::default());
            let shared = Routing { asn, router_id, ..inputs.routing.clone() };
            let routing = Arc::new(routing::plan(RoutingInputs { routing: &shared, ..inputs }));
            self.planned.push(BgpGroup { routing, nodes: Vec::new() });
        }
        let alike = &mut self.planned[number];
        alike.nodes.push(nth);
        Arc::clone(&alike.routing)
    }
}

/// All inputs of a BGP plan: nodes with equal fingerprints form a group.
///
/// The patterns below name every input and key, so that a new one does not compile before it is added here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct BgpFingerprint {
    ports: Vec<LinkName>,
    role: Role,
    talos: TalosVersion,
    health: bool,
    more: bool,
    keys: [usize; 13],
}

impl BgpFingerprint {
    fn of(inputs: RoutingInputs<'_>) -> Self {
        // All nodes belong to one cluster.
        let RoutingInputs { cluster: _, routing, ports, role, talos, health, more } = inputs;
        let (ports, talos) = (ports.to_vec(), talos.clone());
        Self { ports, role, talos, health, more, keys: keys(routing) }
    }
}

/// The keys that a plan may read; AS number and router ID are removed before.
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
