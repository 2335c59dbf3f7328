//! The nodes of a finding: all are counted, the first few are named.
//!
//! [`AffectedNodes`] has the nodes of one finding. [`NodesByProblem`] groups nodes by problem, so that the same problem of
//! many nodes is reported once. Where a problem is a key and a message, [`NodesByProblem::add_message`] and
//! [`NodesByProblem::report`] do this.

use std::collections::BTreeMap;
use std::collections::btree_map::IntoIter;
use std::fmt;

use super::{Findings, RuleContext};
use crate::model::layer;
use crate::plan::{NodePlan, Plan};
use ichor_values::Location;
use ichor_values::listing::{join_names, thousands};

/// The number of nodes that are named.
const NAMED: usize = 3;

/// The nodes of a finding, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct AffectedNodes<'p> {
    named: Vec<(&'p NodePlan, Location)>,
    /// The first node of the last addition.
    last: Option<usize>,
    count: usize,
}

impl<'p> AffectedNodes<'p> {
    /// The nodes of `plan` with these numbers, at their own locations.
    pub fn from_numbers(plan: &'p Plan, nodes: &[usize]) -> Self {
        let mut affected = Self::default();
        if let Some(&first) = nodes.first() {
            affected.add_all(plan, nodes, plan.nodes[first].place);
        }
        affected
    }

    /// Adds a node with the location to mark. A node added twice in a row counts once.
    pub fn add(&mut self, node: &'p NodePlan, place: Location) {
        if self.last.replace(node.nth) != Some(node.nth) {
            self.count += 1;
            self.add_name(node, place);
        }
    }

    /// Adds nodes, in their order, with one location to mark. The same nodes added twice in a row count once.
    pub(crate) fn add_all(&mut self, plan: &'p Plan, nodes: &[usize], place: Location) {
        let Some(&first) = nodes.first() else { return };
        if self.last.replace(first) != Some(first) {
            self.count += nodes.len();
            nodes.iter().take(NAMED).for_each(|&nth| self.add_name(&plan.nodes[nth], place));
        }
    }

    /// Names a node if it is one of the first: nodes of a class need not be adjacent in the file.
    fn add_name(&mut self, node: &'p NodePlan, place: Location) {
        if self.named.get(NAMED - 1).is_some_and(|(last, _)| last.nth < node.nth) {
            return;
        }
        let at = self.named.partition_point(|(named, _)| named.nth < node.nth);
        let known = self.named.get(at).is_some_and(|(named, _)| named.nth == node.nth);
        if !known {
            self.named.insert(at, (node, place));
            self.named.truncate(NAMED);
        }
    }

    /// The number of nodes.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether no node is affected.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first node; there must be one.
    pub(crate) fn first(&self) -> &'p NodePlan {
        self.named[0].0
    }

    /// The location of the first node.
    pub fn place(&self) -> Location {
        self.named.first().map(|(_, place)| *place).unwrap_or_default()
    }

    /// The path of `key` on a single node, or `nodes` for several.
    pub fn path(&self, key: &str) -> String {
        match self.named.as_slice() {
            [(node, _)] => node.path(key),
            _ => "nodes".to_owned(),
        }
    }

    /// The node with the duplicate of an earlier node's value: the second node, or the only one. A written value takes
    /// precedence over a derived one, whose location is the node's.
    pub(crate) fn duplicate_node(&self) -> Option<(&'p NodePlan, Location)> {
        let second = self.named.get(1).or(self.named.first());
        let is_written = |(node, place): &&(&NodePlan, Location)| *place != node.place;
        second.filter(is_written).or_else(|| self.named.iter().find(is_written)).or(second).copied()
    }

    /// The first named node that `matches`, or the first of all. Panics without affected nodes.
    pub(crate) fn first_matching(&self, matches: impl Fn(&NodePlan) -> bool) -> (&'p NodePlan, Location) {
        self.named.iter().find(|(node, _)| matches(node)).copied().unwrap_or(self.named[0])
    }

    /// The names as a list after a sentence: `a, b, c and 99,997 more`. Within a sentence, use `Display`.
    pub fn names(&self) -> String {
        let names = self.first_names().join(", ");
        match self.count - self.named.len() {
            0 => names,
            more => format!("{names} and {} more", thousands(more)),
        }
    }

    fn first_names(&self) -> Vec<&'p str> {
        self.named.iter().map(|(node, _)| node.name.as_str()).collect()
    }
}

impl<'p> FromIterator<(&'p NodePlan, Location)> for AffectedNodes<'p> {
    fn from_iter<I: IntoIterator<Item = (&'p NodePlan, Location)>>(nodes: I) -> Self {
        let mut affected = Self::default();
        for (node, place) in nodes {
            affected.add(node, place);
        }
        affected
    }
}

impl fmt::Display for AffectedNodes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&join_names(&self.first_names(), self.count))
    }
}

/// Nodes by problem, in the order of the problems.
#[derive(Debug)]
pub(super) struct NodesByProblem<'p, K> {
    plan: &'p Plan,
    by_problem: BTreeMap<K, AffectedNodes<'p>>,
}

impl<'p, K: Ord> NodesByProblem<'p, K> {
    /// An empty collection.
    pub(crate) fn new(plan: &'p Plan) -> Self {
        Self { plan, by_problem: BTreeMap::new() }
    }

    /// Adds nodes with a problem at `place`, if any. The same nodes added twice in a row count once.
    pub fn add(&mut self, problem: K, nodes: &[usize], place: Location) {
        if !nodes.is_empty() {
            self.by_problem.entry(problem).or_default().add_all(self.plan, nodes, place);
        }
    }
}

impl<'p, K> IntoIterator for NodesByProblem<'p, K> {
    type Item = (K, AffectedNodes<'p>);
    type IntoIter = IntoIter<K, AffectedNodes<'p>>;

    fn into_iter(self) -> Self::IntoIter {
        self.by_problem.into_iter()
    }
}

/// A problem: its location, key and message.
type NodeProblem = (Option<Location>, String, String);

impl NodesByProblem<'_, NodeProblem> {
    /// Adds `message` about `key`, a key of nodes or of the cluster written at `place`, for all of `nodes`.
    pub(crate) fn add_message(
        &mut self,
        key: impl Into<String>,
        place: Option<Location>,
        message: impl Into<String>,
        nodes: &[usize],
    ) {
        if let Some(&first) = nodes.first() {
            let at = place.unwrap_or(self.plan.nodes[first].place);
            self.add((place, key.into(), message.into()), nodes, at);
        }
    }

    /// Reports every problem under the layer that has the key, or under the first node.
    pub(crate) fn report(self, context: &RuleContext<'_>, findings: &mut Findings) {
        for ((place, key, message), affected) in self {
            let layer = layer::layer_at(context.cluster, affected.first().nth, place);
            let known = affected.count() == 1 && layer.is_node();
            let message = if known { message } else { format!("{message} ({})", affected.names()) };
            findings.add(layer.path(&key), affected.place(), message);
        }
    }
}
