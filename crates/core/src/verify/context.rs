//! The inputs of checks: a node or the cluster with its observations.

use std::collections::BTreeMap;

use super::{CheckResult, NodeDetail, NodeObservations, Observations, RouterPeering};
use crate::cluster::section::BootFrom;
use crate::observe::{ExpectedNode, NodeSnapshot, QueryOutcome};
use crate::plan::{ConfigStage, LinkPlan, NodePlan, Plan};

/// A node with its observations.
pub struct NodeContext<'c> {
    pub(super) plan: &'c Plan,
    pub(super) node: &'c NodePlan,
    pub(super) expected: ExpectedNode,
    pub(super) seen: &'c NodeObservations,
    pub(super) all: &'c Observations,
    /// Routers that can be queried for the node's sessions.
    pub(super) peerings: &'c [RouterPeering],
}

/// The cluster with its observations.
pub struct ClusterContext<'c> {
    pub(super) plan: &'c Plan,
    pub(super) seen: &'c Observations,
}

impl<'c> NodeContext<'c> {
    pub(super) fn new(
        plan: &'c Plan,
        node: &'c NodePlan,
        seen: &'c NodeObservations,
        all: &'c Observations,
        peerings: &'c BTreeMap<String, Vec<RouterPeering>>,
    ) -> Self {
        let peerings = peerings.get(node.name.as_str()).map_or(&[][..], Vec::as_slice);
        Self { plan, node, expected: ExpectedNode::from_plan(node), seen, all, peerings }
    }

    pub(super) fn name(&self) -> &str {
        self.node.name.as_str()
    }

    /// Its report; none if it did not answer.
    pub(super) fn snapshot(&self) -> Option<&'c NodeSnapshot> {
        self.seen.answer.snapshot()
    }

    pub(super) fn detail(&self) -> Option<&'c NodeDetail> {
        self.seen.detail.as_deref()
    }

    /// Whether it is in maintenance mode.
    pub(super) fn is_in_maintenance(&self) -> bool {
        matches!(self.seen.answer, QueryOutcome::Maintenance { .. })
    }

    /// Whether it should have the network of the file: once it is configured, or if its boot media have it.
    pub(super) fn has_network(&self) -> bool {
        !self.is_in_maintenance() || self.node.boot.from.value != BootFrom::Apply
    }

    /// Whether it should have services and other documents of the file: META has the network only.
    pub(super) fn has_documents(&self) -> bool {
        !self.is_in_maintenance() || !matches!(self.node.boot.from.value, BootFrom::Apply | BootFrom::Meta)
    }

    /// The links that it should have.
    pub(super) fn links(&self) -> Vec<LinkPlan> {
        self.node.links(if self.is_in_maintenance() { ConfigStage::Boot } else { ConfigStage::Final })
    }

    /// The result of a check that needs a reply, if the node does not answer.
    pub(super) fn unreachable(&self) -> CheckResult {
        CheckResult::unknown(format!("{} does not answer", self.name()))
    }
}

/// Formats items as a list.
pub(super) fn join_list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}
