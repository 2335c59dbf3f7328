//! Groups of nodes with the same BGP settings, which are planned once for all of them.

use std::sync::Arc;

use super::RoutingPlan;
use super::interner::{Interner, value_address};
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
        let number = self.classes.number(BgpFingerprint::from_inputs(inputs));
        if number == self.planned.len() {
            let (asn, router_id) = (Key::default(), Key::default());
            let shared = Routing { asn, router_id, ..inputs.routing.clone() };
            let routing = Arc::new(routing::plan(RoutingInputs { routing: &shared, ..inputs }));
            self.planned.push(BgpGroup { routing, nodes: Vec::new() });
        }
        let group = &mut self.planned[number];
        group.nodes.push(nth);
        Arc::clone(&group.routing)
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
    has_other_addresses: bool,
    keys: [usize; 13],
}

impl BgpFingerprint {
    fn from_inputs(inputs: RoutingInputs<'_>) -> Self {
        // All nodes belong to one cluster.
        let RoutingInputs { cluster: _, routing, ports, role, talos, health, has_other_addresses } = inputs;
        let (ports, talos) = (ports.to_vec(), talos.clone());
        Self { ports, role, talos, health, has_other_addresses, keys: keys(routing) }
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
        value_address(backend),
        value_address(carrier),
        value_address(version),
        value_address(service),
        value_address(advertise),
        value_address(aggregates),
        value_address(neighbors),
        value_address(policy),
        value_address(graceful_restart),
        value_address(workload),
        value_address(template),
        value_address(daemons),
        value_address(agent),
    ]
}
