//! What BGP makes of a cluster's fabric, computed before any of it exists.
//!
//! A [`Subject`] is the fabric with the sessions that come up ([`session`]) and what shall be reached over them
//! ([`destination`]). [`Subject::study`] lets each destination spread ([`spread`]) and takes away one thing after the other
//! ([`failure`]); [`Proof`] says whether what the cluster file intends comes of it.
//!
//! It computes what ichor itself would write for nodes and routers. Of a router that somebody else configures it assumes that
//! it takes and passes on everything, and gives no default route.

pub mod aggregate;
mod cause;
pub mod destination;
pub mod failure;
pub mod graph;
pub mod intent;
mod island;
mod sentence;
pub mod session;
pub mod spread;
pub mod study;
pub mod tally;
pub mod way;

use crate::model::Cluster;
use crate::plan::Plan;
use crate::routing::BgpTopology;
use crate::routing::network::{BgpSession, TopologyEnd};
use destination::Destination;
use failure::Failure;
use graph::Graph;
use ichor_bgp::model::Family;
use ichor_values::Issue;
pub use intent::Proof;
pub use sentence::crowd;
use spread::Propagation;
pub use study::{FailureAnalysis, FailureScope};
use tally::Examples;

/// A fabric that something is to be proved of.
#[derive(Debug)]
pub struct ProofModel {
    /// Everyone, and every session that is meant.
    pub network: BgpTopology,
    /// What keeps each session from coming up.
    pub faults: Vec<Option<String>>,
    /// What keeps each node's speaker from being heard.
    pub(crate) speaker_faults: Vec<Option<String>>,
    /// Everyone, and every session that comes up.
    pub graph: Graph,
    /// What shall be reached.
    pub destinations: Vec<Destination>,
}

impl ProofModel {
    /// The fabric of a cluster, or what keeps it from being known.
    pub fn of(cluster: &Cluster, plan: &Plan) -> Result<Self, Vec<Issue>> {
        let network = BgpTopology::of(cluster, plan)?;
        let mut faults = session::faults(cluster, plan, &network);
        let speaker_faults: Vec<_> =
            network.nodes.iter().map(|model| session::speaker_fault(plan, model)).collect();
        let mut subject = Self::with(network, plan, faults.clone(), speaker_faults.clone());
        if subject.close_crowded(&mut faults) {
            subject = Self::with(subject.network, plan, faults, speaker_faults);
        }
        Ok(subject)
    }

    fn with(
        network: BgpTopology,
        plan: &Plan,
        faults: Vec<Option<String>>,
        speaker_faults: Vec<Option<String>>,
    ) -> Self {
        let graph = Graph::of(&network, plan, |session| faults[session].is_none());
        let destinations = destination::all(&graph, &network, plan, |node| speaker_faults[node].is_none());
        Self { network, faults, speaker_faults, graph, destinations }
    }

    /// The same sessions in a network of which something else is other.
    pub(crate) fn with_network(&self, network: BgpTopology, plan: &Plan) -> Self {
        Self::with(network, plan, self.faults.clone(), self.speaker_faults.clone())
    }

    /// The same fabric with one node as it is in another. `plan` is the other's.
    #[must_use]
    pub(crate) fn with_node_of(self, other: &Self, node: usize, plan: &Plan) -> Self {
        let Self { mut network, mut faults, mut speaker_faults, .. } = self;
        network.nodes[node] = other.network.nodes[node].clone();
        speaker_faults[node].clone_from(&other.speaker_faults[node]);
        for (session, BgpSession(one, _)) in network.sessions.iter().enumerate() {
            if matches!(one, TopologyEnd::Node(nth, _) if *nth == node) {
                faults[session].clone_from(&other.faults[session]);
            }
        }
        Self::with(network, plan, faults, speaker_faults)
    }

    /// Sessions that do not come up, and nodes that have none.
    pub fn down(&self) -> Examples {
        let mut tally = Examples::default();
        let lonely = self.network.nodes.iter().filter(|model| model.fabric.neighbors.is_empty());
        let lonely: Vec<&str> = lonely.map(|model| model.name.as_str()).collect();
        if !lonely.is_empty() {
            let verb = if lonely.len() > 1 { "have" } else { "has" };
            tally.add_group(lonely.len(), || format!("{} {verb} no BGP neighbour", crowd(lonely)));
        }
        for (BgpSession(one, other), fault) in self.network.sessions.iter().zip(&self.faults) {
            if let Some(fault) = fault {
                let (one, other) = (self.network.name(*one), self.network.name(*other));
                tally.add(|| format!("{one} and {other}: {fault}"));
            }
        }
        tally
    }

    /// Finds sessions that bring a node more prefixes than it takes, and are closed for it.
    fn close_crowded(&self, faults: &mut [Option<String>]) -> bool {
        let limit = |node: usize| self.network.nodes[node].fabric.inward.max_prefixes;
        if (0..self.network.nodes.len()).all(|node| limit(node).is_none()) {
            return false;
        }
        let mut closed = false;
        for (edge, counts) in self.graph.edges.iter().zip(self.counts()) {
            let BgpSession(TopologyEnd::Node(node, _), TopologyEnd::Router(router, _)) =
                self.network.sessions[edge.session]
            else {
                continue;
            };
            let Some(most) = limit(node) else { continue };
            let given = counts.into_iter().max().unwrap_or_default();
            if given > most {
                let name = &self.network.routers[router].name;
                faults[edge.session] = Some(format!(
                    "{name} announces {given} prefixes of one family to it, more than its limit of {most}"
                ));
                closed = true;
            }
        }
        closed
    }

    /// How many prefixes of each family every session brings the node at its end. Only what the node lets in counts.
    fn counts(&self) -> Vec<[u32; 2]> {
        let mut counts = vec![[0; 2]; self.graph.edges.len()];
        for node in (0..).take(self.graph.nodes) {
            for family in Family::ALL {
                for (edge, _) in self.graph.defaults(node, family) {
                    counts[edge as usize][family as usize] += 1;
                }
            }
        }
        let mut spread = Propagation::new(&self.graph);
        for target in &self.destinations {
            spread.settle(target);
            for (edge, counts) in (0..).zip(&mut counts) {
                let node = self.graph.edges[edge as usize].ends.0;
                for net in target.nets.iter().filter(|_| spread.refusal(edge, node).is_none()) {
                    counts[Family::of(*net) as usize] += 1;
                }
            }
        }
        counts
    }

    /// Looks at some of the destinations, without and with failures.
    pub fn study(&self, some: &[Destination], scope: &FailureScope) -> FailureAnalysis {
        study::study(&self.graph, &self.destinations, some, scope)
    }

    /// Everything that can fail.
    pub fn failures(&self) -> Vec<Failure> {
        failure::all(&self.graph, &self.network)
    }

    /// What is called so: something that can fail, or all sessions between two, as `cp1:leaf1`.
    pub fn failure(&self, name: &str) -> Option<Failure> {
        let (graph, network) = (&self.graph, &self.network);
        let known = self.failures().into_iter().find(|failure| failure.is_called(name, graph, network));
        known.or_else(|| Failure::between(name, graph))
    }

    /// What a failure is called.
    pub fn name(&self, failure: Failure) -> String {
        failure.name(&self.graph, &self.network)
    }
}
