//! Losses of reachability while nodes migrate one at a time.
//!
//! At each step the migrated nodes have the new backend, the others the old one, and the migrating node is down.

use ipnet::IpNet;

use crate::model::Cluster;
use crate::plan::Plan;
use crate::prove::destination::Destination;
use crate::prove::examples::Examples;
use crate::prove::failure::Failure;
use crate::prove::propagation::Propagation;
use crate::prove::{FailureScope, ProofModel};
use ichor_values::{Issue, NodeName};

/// The losses of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLoss {
    /// The migrating node.
    pub node: NodeName,
    /// Prefixes that only this node announces: unreachable meanwhile, unless the routers keep the routes.
    pub own: Vec<IpNet>,
    /// The other machines with a route to one of them, routers first.
    pub missed_by: Vec<String>,
    /// Prefixes of other nodes that some machine cannot reach while the node is down.
    pub lost: Examples,
    /// Violated intents after the node has migrated, even if they hold again after the last step.
    pub broken: Examples,
}

/// Computes the losses of migrating `nodes`, in their order, from one cluster to another.
pub fn compute_losses(
    from: (&Cluster, &Plan),
    to: (&Cluster, &Plan),
    nodes: &[usize],
) -> Result<Vec<StepLoss>, Vec<Issue>> {
    let mut subject = ProofModel::from_plan(from.0, from.1)?;
    let after = ProofModel::from_plan(to.0, to.1)?;
    let mut losses = Vec::new();
    for &nth in nodes {
        let Some(position) = subject.network.nodes.iter().position(|model| model.nth == nth) else {
            continue;
        };
        let loss = loss_without(&subject, position);
        subject = subject.with_node_from(&after, position, to.1);
        losses.push(StepLoss { broken: broken_intents(&subject), ..loss });
    }
    Ok(losses)
}

/// The losses while a node is down.
fn loss_without(subject: &ProofModel, position: usize) -> StepLoss {
    let vertex = u32::try_from(position).expect("fewer nodes than 2^32");
    let is_only_origin =
        |origins: &[crate::prove::destination::Originator]| origins.iter().all(|it| it.vertex == vertex);
    let own = subject.destinations.iter().filter(|it| !it.origins.is_empty() && is_only_origin(&it.origins));
    let scope = FailureScope::Each { failures: vec![Failure::Vertex(vertex)], pairs: false };
    let study = subject.analyse(&subject.destinations, &scope);
    let mut lost = Examples::default();
    for outcome in study.outcomes.into_values() {
        lost.join(outcome.broken);
        lost.join(outcome.alone);
    }
    let own: Vec<&Destination> = own.collect();
    StepLoss {
        node: subject.network.nodes[position].name.clone(),
        missed_by: reached_by(subject, &own, vertex),
        own: own.into_iter().flat_map(|it| it.nets.iter().copied()).collect(),
        lost,
        broken: Examples::default(),
    }
}

/// The machines other than the node itself with a route to one of its prefixes.
fn reached_by(subject: &ProofModel, own: &[&Destination], node: u32) -> Vec<String> {
    let graph = &subject.graph;
    let mut reached = vec![false; graph.vertices.len()];
    let mut spread = Propagation::new(graph);
    for target in own {
        spread.converge(target);
        (0..).zip(&mut reached).for_each(|(vertex, reached)| *reached |= spread.has(vertex));
    }
    let machines = graph.routers().chain((0..).take(graph.nodes));
    let others = machines.filter(|vertex| *vertex != node && reached[*vertex as usize]);
    others.map(|vertex| graph.vertices[vertex as usize].name.clone()).collect()
}

/// Violated intents without a failure.
fn broken_intents(subject: &ProofModel) -> Examples {
    let study = subject.analyse(&subject.destinations, &FailureScope::Together(Vec::new()));
    let mut broken = subject.down_sessions();
    for tally in [
        study.unreached,
        study.unreached_by_nodes,
        study.dropped,
        study.unstable,
        study.transit,
        study.overridden_speakers,
    ] {
        broken.join(tally);
    }
    broken
}
