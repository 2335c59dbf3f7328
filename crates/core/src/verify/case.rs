//! A node with all that is known of it, as its checks look at it.

use std::collections::BTreeMap;

use super::{CheckResult, NodeDetail, NodeObservations, Observations, RouterPeering};
use crate::cluster::section::BootFrom;
use crate::observe::{ExpectedNode, NodeSnapshot, QueryOutcome};
use crate::plan::{ConfigStage, LinkPlan, NodePlan, Plan};

/// A node, and what was seen of it.
pub struct NodeContext<'c> {
    pub(super) plan: &'c Plan,
    pub(super) node: &'c NodePlan,
    pub(super) expected: ExpectedNode,
    pub(super) seen: &'c NodeObservations,
    pub(super) all: &'c Observations,
    /// Routers that can be asked for the node's sessions.
    pub(super) far: &'c [RouterPeering],
}

/// The cluster, and what was seen of it.
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
        far: &'c BTreeMap<String, Vec<RouterPeering>>,
    ) -> Self {
        let far = far.get(node.name.as_str()).map_or(&[][..], Vec::as_slice);
        Self { plan, node, expected: ExpectedNode::of(node), seen, all, far }
    }

    pub(super) fn name(&self) -> &str {
        self.node.name.as_str()
    }

    /// What it tells; nothing where nobody answers.
    pub(super) fn told(&self) -> Option<&'c NodeSnapshot> {
        self.seen.answer.told()
    }

    pub(super) fn detail(&self) -> Option<&'c NodeDetail> {
        self.seen.detail.as_deref()
    }

    /// Whether it has no configuration yet, or none that lets it be installed.
    pub(super) fn is_early(&self) -> bool {
        matches!(self.seen.answer, QueryOutcome::Maintenance { .. })
    }

    /// Whether its network is that of the file by now: always once it is configured, else where its medium brings it.
    pub(super) fn has_network(&self) -> bool {
        !self.is_early() || self.node.boot.from.value != BootFrom::Apply
    }

    /// The same of services and everything else in documents: META brings the network alone.
    pub(super) fn has_documents(&self) -> bool {
        !self.is_early() || !matches!(self.node.boot.from.value, BootFrom::Apply | BootFrom::Meta)
    }

    /// The links it should have by now.
    pub(super) fn links(&self) -> Vec<LinkPlan> {
        self.node.links(if self.is_early() { ConfigStage::Boot } else { ConfigStage::Final })
    }

    /// What is said of something that the node could not be asked for, where it does not answer at all.
    pub(super) fn silent(&self) -> CheckResult {
        CheckResult::unknown(format!("{} does not answer", self.name()))
    }
}

/// Words in a row.
pub(super) fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}
