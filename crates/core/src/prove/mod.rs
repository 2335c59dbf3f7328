//! Analysis of BGP in a cluster's fabric before deployment.
//!
//! A [`ProofModel`] is the fabric with the sessions that come up ([`session`]) and the destinations that must be reachable
//! ([`destination`]). [`ProofModel::analyse`] propagates each destination ([`propagation`]) and applies failures ([`failure`]);
//! [`Proof`] states whether the intents of the cluster file are satisfied.
//!
//! The analysis uses the configuration that ichor writes for nodes and routers. A router that ichor does not configure is
//! assumed to accept and pass on every route, and to announce no default route.

pub mod aggregate;
pub mod analysis;
mod cause;
mod components;
pub mod destination;
pub mod examples;
pub mod failure;
pub mod forwarding;
pub mod graph;
pub mod intent;
pub mod propagation;
pub mod session;
mod text;

use crate::model::Cluster;
use crate::plan::Plan;
use crate::routing::BgpTopology;
use crate::routing::network::{BgpSession, TopologyEnd};
pub use analysis::{FailureAnalysis, FailureScope};
use destination::Destination;
use examples::Examples;
use failure::Failure;
use graph::Graph;
use ichor_bgp::model::Family;
use ichor_values::Issue;
pub use intent::Proof;
use propagation::Propagation;
pub use text::summarize_names;

/// The fabric as analysed.
#[derive(Debug)]
pub struct ProofModel {
    /// Nodes, routers and every configured session.
    pub network: BgpTopology,
    /// Why each session does not come up, if it does not.
    pub faults: Vec<Option<String>>,
    /// Why each node receives no routes from its speaker, if it does not.
    pub(crate) speaker_faults: Vec<Option<String>>,
    /// Nodes, routers and the sessions that come up.
    pub graph: Graph,
    /// Destinations that must be reachable.
    pub destinations: Vec<Destination>,
}

impl ProofModel {
    /// Builds the model of a cluster, or returns the missing keys.
    pub fn from_plan(cluster: &Cluster, plan: &Plan) -> Result<Self, Vec<Issue>> {
        let network = BgpTopology::from_plan(cluster, plan)?;
        let mut faults = session::faults(cluster, plan, &network);
        let speaker_faults: Vec<_> =
            network.nodes.iter().map(|model| session::speaker_fault(plan, model)).collect();
        let mut subject = Self::build(network, plan, faults.clone(), speaker_faults.clone());
        if subject.close_over_limit(&mut faults) {
            subject = Self::build(subject.network, plan, faults, speaker_faults);
        }
        Ok(subject)
    }

    fn build(
        network: BgpTopology,
        plan: &Plan,
        faults: Vec<Option<String>>,
        speaker_faults: Vec<Option<String>>,
    ) -> Self {
        let graph = Graph::build(&network, plan, |session| faults[session].is_none());
        let destinations =
            destination::destinations(&graph, &network, plan, |node| speaker_faults[node].is_none());
        Self { network, faults, speaker_faults, graph, destinations }
    }

    /// The same sessions in a changed topology.
    pub(crate) fn with_network(&self, network: BgpTopology, plan: &Plan) -> Self {
        Self::build(network, plan, self.faults.clone(), self.speaker_faults.clone())
    }

    /// This fabric with one node taken from `other`, whose plan is `plan`.
    #[must_use]
    pub(crate) fn with_node_from(self, other: &Self, node: usize, plan: &Plan) -> Self {
        let Self { mut network, mut faults, mut speaker_faults, .. } = self;
        network.nodes[node] = other.network.nodes[node].clone();
        speaker_faults[node].clone_from(&other.speaker_faults[node]);
        for (session, BgpSession(one, _)) in network.sessions.iter().enumerate() {
            if matches!(one, TopologyEnd::Node(nth, _) if *nth == node) {
                faults[session].clone_from(&other.faults[session]);
            }
        }
        Self::build(network, plan, faults, speaker_faults)
    }

    /// Sessions that do not come up, and nodes without sessions.
    pub fn down_sessions(&self) -> Examples {
        let mut tally = Examples::default();
        let isolated = self.network.nodes.iter().filter(|model| model.fabric.neighbors.is_empty());
        let isolated: Vec<&str> = isolated.map(|model| model.name.as_str()).collect();
        if !isolated.is_empty() {
            let verb = if isolated.len() > 1 { "have" } else { "has" };
            tally.add_group(isolated.len(), || {
                format!("{} {verb} no BGP neighbour", summarize_names(isolated))
            });
        }
        for (BgpSession(one, other), fault) in self.network.sessions.iter().zip(&self.faults) {
            if let Some(fault) = fault {
                let (one, other) = (self.network.name(*one), self.network.name(*other));
                tally.add(|| format!("{one} and {other}: {fault}"));
            }
        }
        tally
    }

    /// Marks sessions that exceed a node's prefix limit, which closes them. Returns whether there are any.
    fn close_over_limit(&self, faults: &mut [Option<String>]) -> bool {
        let limit = |node: usize| self.network.nodes[node].fabric.inward.max_prefixes;
        if (0..self.network.nodes.len()).all(|node| limit(node).is_none()) {
            return false;
        }
        let mut closed = false;
        for (edge, counts) in self.graph.edges.iter().zip(self.count_prefixes()) {
            let BgpSession(TopologyEnd::Node(node, _), TopologyEnd::Router(router, _)) =
                self.network.sessions[edge.session]
            else {
                continue;
            };
            let Some(most) = limit(node) else { continue };
            let count = counts.into_iter().max().unwrap_or_default();
            if count > most {
                let name = &self.network.routers[router].name;
                faults[edge.session] = Some(format!(
                    "{name} announces {count} prefixes of one family to it, more than its limit of {most}"
                ));
                closed = true;
            }
        }
        closed
    }

    /// The number of prefixes that a node accepts over each session, by family.
    fn count_prefixes(&self) -> Vec<[u32; 2]> {
        let mut counts = vec![[0; 2]; self.graph.edges.len()];
        for node in (0..).take(self.graph.nodes) {
            for family in Family::ALL {
                for (edge, _) in self.graph.defaults(node, family) {
                    counts[edge as usize][family as usize] += 1;
                }
            }
        }
        let mut propagation = Propagation::new(&self.graph);
        for target in &self.destinations {
            propagation.converge(target);
            for (edge, counts) in (0..).zip(&mut counts) {
                let node = self.graph.edges[edge as usize].ends.0;
                for net in target.nets.iter().filter(|_| propagation.reject_reason(edge, node).is_none()) {
                    counts[Family::of(*net) as usize] += 1;
                }
            }
        }
        counts
    }

    /// Analyses some of the destinations, without and with failures.
    pub fn analyse(&self, some: &[Destination], scope: &FailureScope) -> FailureAnalysis {
        analysis::analyse(&self.graph, &self.destinations, some, scope)
    }

    /// All single failures.
    pub fn failures(&self) -> Vec<Failure> {
        failure::all_failures(&self.graph, &self.network)
    }

    /// The failure of this name: a single failure, or all sessions between two, such as `cp1:leaf1`.
    pub fn failure(&self, name: &str) -> Option<Failure> {
        let (graph, network) = (&self.graph, &self.network);
        let known = self.failures().into_iter().find(|failure| failure.has_name(name, graph, network));
        known.or_else(|| Failure::between(name, graph))
    }

    /// The name of a failure.
    pub fn name(&self, failure: Failure) -> String {
        failure.name(&self.graph, &self.network)
    }
}
