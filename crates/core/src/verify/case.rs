//! A node with all that is known of it, as its checks look at it.

use std::collections::BTreeMap;

use super::{Detail, Far, NodeSeen, Seen, Verdict};
use crate::cluster::section::BootFrom;
use crate::observe::{Answer, Expected, Told};
use crate::plan::{LinkPlan, NodePlan, Plan, Stage};

/// A node, and what was seen of it.
pub struct Case<'c> {
    pub(super) plan: &'c Plan,
    pub(super) node: &'c NodePlan,
    pub(super) expected: Expected,
    pub(super) seen: &'c NodeSeen,
    pub(super) all: &'c Seen,
    /// Routers that can be asked for the node's sessions.
    pub(super) far: &'c [Far],
}

/// The cluster, and what was seen of it.
pub struct Whole<'c> {
    pub(super) plan: &'c Plan,
    pub(super) seen: &'c Seen,
}

impl<'c> Case<'c> {
    pub(super) fn new(
        plan: &'c Plan,
        node: &'c NodePlan,
        seen: &'c NodeSeen,
        all: &'c Seen,
        far: &'c BTreeMap<String, Vec<Far>>,
    ) -> Self {
        let far = far.get(node.name.as_str()).map_or(&[][..], Vec::as_slice);
        Self { plan, node, expected: Expected::of(node), seen, all, far }
    }

    pub(super) fn name(&self) -> &str {
        self.node.name.as_str()
    }

    /// What it tells; nothing where nobody answers.
    pub(super) fn told(&self) -> Option<&'c Told> {
        self.seen.answer.told()
    }

    pub(super) fn detail(&self) -> Option<&'c Detail> {
        self.seen.detail.as_deref()
    }

    /// Whether it has no configuration yet, or none that lets it be installed.
    pub(super) fn is_early(&self) -> bool {
        matches!(self.seen.answer, Answer::Maintenance { .. })
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
        self.node.links(if self.is_early() { Stage::Boot } else { Stage::Final })
    }

    /// What is said of something that the node could not be asked for, where it does not answer at all.
    pub(super) fn silent(&self) -> Verdict {
        Verdict::unknown(format!("{} does not answer", self.name()))
    }
}

/// Words in a row.
pub(super) fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}
