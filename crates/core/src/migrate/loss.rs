//! What is lost while nodes move, one after the other.
//!
//! At every step the nodes that have moved speak as they will, the others as they did, and the one that moves is away.

use ipnet::IpNet;

use crate::model::Cluster;
use crate::plan::Plan;
use crate::prove::destination::Destination;
use crate::prove::failure::Failure;
use crate::prove::spread::Propagation;
use crate::prove::tally::Examples;
use crate::prove::{FailureScope, ProofModel};
use ichor_values::{Issue, NodeName};

/// What one step costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLoss {
    /// The node that moves.
    pub node: NodeName,
    /// Prefixes that nobody else announces: they are away with it, unless the routers keep them.
    pub own: Vec<IpNet>,
    /// Who else reaches one of those, routers first.
    pub missed_by: Vec<String>,
    /// What others announce, and somebody no longer reaches while the node is away.
    pub lost: Examples,
    /// What does not hold once the node has moved, though all nodes together may be fine again.
    pub broken: Examples,
}

/// The losses of moving `nodes`, in their order, from one cluster to another.
pub fn losses(
    from: (&Cluster, &Plan),
    to: (&Cluster, &Plan),
    nodes: &[usize],
) -> Result<Vec<StepLoss>, Vec<Issue>> {
    let mut subject = ProofModel::of(from.0, from.1)?;
    let after = ProofModel::of(to.0, to.1)?;
    let mut losses = Vec::new();
    for &nth in nodes {
        let Some(place) = subject.network.nodes.iter().position(|model| model.nth == nth) else { continue };
        let away = loss_without(&subject, place);
        subject = subject.with_node_of(&after, place, to.1);
        losses.push(StepLoss { broken: broken_intents(&subject), ..away });
    }
    Ok(losses)
}

/// What is missed while a node is away.
fn loss_without(subject: &ProofModel, place: usize) -> StepLoss {
    let vertex = u32::try_from(place).expect("fewer nodes than 2^32");
    let alone =
        |origins: &[crate::prove::destination::Originator]| origins.iter().all(|it| it.vertex == vertex);
    let own = subject.destinations.iter().filter(|it| !it.origins.is_empty() && alone(&it.origins));
    let away = FailureScope::Each { failures: vec![Failure::Vertex(vertex)], pairs: false };
    let study = subject.study(&subject.destinations, &away);
    let mut lost = Examples::default();
    for outcome in study.outcomes.into_values() {
        lost.join(outcome.broken);
        lost.join(outcome.alone);
    }
    let own: Vec<&Destination> = own.collect();
    StepLoss {
        node: subject.network.nodes[place].name.clone(),
        missed_by: reached_by(subject, &own, vertex),
        own: own.into_iter().flat_map(|it| it.nets.iter().copied()).collect(),
        lost,
        broken: Examples::default(),
    }
}

/// Everyone but the node itself who has a route to one of its prefixes.
fn reached_by(subject: &ProofModel, own: &[&Destination], node: u32) -> Vec<String> {
    let graph = &subject.graph;
    let mut reached = vec![false; graph.vertices.len()];
    let mut spread = Propagation::new(graph);
    for target in own {
        spread.settle(target);
        (0..).zip(&mut reached).for_each(|(vertex, reached)| *reached |= spread.has(vertex));
    }
    let everyone = graph.routers().chain((0..).take(graph.nodes));
    let others = everyone.filter(|vertex| *vertex != node && reached[*vertex as usize]);
    others.map(|vertex| graph.vertices[vertex as usize].name.clone()).collect()
}

/// What does not hold with everything up.
fn broken_intents(subject: &ProofModel) -> Examples {
    let study = subject.study(&subject.destinations, &FailureScope::Together(Vec::new()));
    let mut broken = subject.down();
    for tally in [study.unreached, study.apart, study.dropped, study.restless, study.through, study.outdone] {
        broken.join(tally);
    }
    broken
}
