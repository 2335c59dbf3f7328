//! The nodes a finding is about: all of them are counted, the first few are named.
//!
//! A [`Roll`] is the nodes of one finding. [`Rolls`] keeps one for each thing that is wrong, so that the same thing
//! about many nodes is said once; [`Rolls::say`] and [`Rolls::report`] do so where a finding is a key and a message.

use std::collections::BTreeMap;
use std::collections::btree_map::IntoIter;
use std::fmt;

use super::{Findings, RuleContext};
use crate::model::layer;
use crate::plan::{NodePlan, Plan};
use ichor_values::Location;
use ichor_values::listing::{listed, thousands};

/// How many nodes are named.
const NAMED: usize = 3;

/// The nodes a finding is about, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct AffectedNodes<'p> {
    named: Vec<(&'p NodePlan, Location)>,
    /// What was added last, by its first node.
    last: Option<usize>,
    count: usize,
}

impl<'p> AffectedNodes<'p> {
    /// These nodes of `plan`, with the places where they stand.
    pub fn of(plan: &'p Plan, nodes: &[usize]) -> Self {
        let mut roll = Self::default();
        if let Some(&first) = nodes.first() {
            roll.add_alike(plan, nodes, plan.nodes[first].place);
        }
        roll
    }

    /// Adds a node with the place to mark; a node that comes twice in a row counts once.
    pub fn add(&mut self, node: &'p NodePlan, place: Location) {
        if self.last.replace(node.nth) != Some(node.nth) {
            self.count += 1;
            self.name(node, place);
        }
    }

    /// Adds nodes, in their order, that have one place to mark; the same ones twice in a row count once.
    pub(crate) fn add_alike(&mut self, plan: &'p Plan, nodes: &[usize], place: Location) {
        let Some(&first) = nodes.first() else { return };
        if self.last.replace(first) != Some(first) {
            self.count += nodes.len();
            nodes.iter().take(NAMED).for_each(|&nth| self.name(&plan.nodes[nth], place));
        }
    }

    /// Names a node if it is one of the first: nodes that are alike need not stand together.
    fn name(&mut self, node: &'p NodePlan, place: Location) {
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

    /// How many nodes there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first node; there must be one.
    pub(crate) fn first(&self) -> &'p NodePlan {
        self.named[0].0
    }

    /// The place of the first node.
    pub fn place(&self) -> Location {
        self.named.first().map(|(_, place)| *place).unwrap_or_default()
    }

    /// The path of `key` on the one node there is, or of the nodes as a whole.
    pub fn path(&self, key: &str) -> String {
        match self.named.as_slice() {
            [(node, _)] => node.path(key),
            _ => "nodes".to_owned(),
        }
    }

    /// The second node, or the only one: where a value stands that an earlier node has already. What was written goes
    /// before what has no place but the node's, because it follows from something else.
    pub(crate) fn later(&self) -> Option<(&'p NodePlan, Location)> {
        let second = self.named.get(1).or(self.named.first());
        let is_written = |(node, place): &&(&NodePlan, Location)| *place != node.place;
        second.filter(is_written).or_else(|| self.named.iter().find(is_written)).or(second).copied()
    }

    /// The first node that is so, or the first of all; there must be one.
    pub(crate) fn first_that(&self, so: impl Fn(&NodePlan) -> bool) -> (&'p NodePlan, Location) {
        self.named.iter().find(|(node, _)| so(node)).copied().unwrap_or(self.named[0])
    }

    /// The names as a list behind a sentence: `a, b, c and 99,997 more`. Within one, the roll itself is written.
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
        let mut roll = Self::default();
        for (node, place) in nodes {
            roll.add(node, place);
        }
        roll
    }
}

impl fmt::Display for AffectedNodes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&listed(&self.first_names(), self.count))
    }
}

/// Nodes by what is wrong with them, in the order of that.
#[derive(Debug)]
pub(super) struct NodesByProblem<'p, K> {
    plan: &'p Plan,
    rolls: BTreeMap<K, AffectedNodes<'p>>,
}

impl<'p, K: Ord> NodesByProblem<'p, K> {
    /// No nodes yet.
    pub(crate) fn new(plan: &'p Plan) -> Self {
        Self { plan, rolls: BTreeMap::new() }
    }

    /// Adds nodes on which `what` is wrong at `place`, if there are any; the same ones twice in a row count once.
    pub fn add(&mut self, what: K, nodes: &[usize], place: Location) {
        if !nodes.is_empty() {
            self.rolls.entry(what).or_default().add_alike(self.plan, nodes, place);
        }
    }
}

impl<'p, K> IntoIterator for NodesByProblem<'p, K> {
    type Item = (K, AffectedNodes<'p>);
    type IntoIter = IntoIter<K, AffectedNodes<'p>>;

    fn into_iter(self) -> Self::IntoIter {
        self.rolls.into_iter()
    }
}

/// Where something is wrong, under which key, and what to say.
type NodeProblem = (Option<Location>, String, String);

impl NodesByProblem<'_, NodeProblem> {
    /// Says `message` of `key`, a key that nodes have or of the cluster, written at `place`, for all of `nodes`.
    pub(crate) fn say(
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

    /// Reports all of it: under the rung that has the key, or under the first node.
    pub(crate) fn report(self, context: &RuleContext<'_>, found: &mut Findings) {
        for ((place, key, message), roll) in self {
            let layer = layer::layer_at(context.cluster, roll.first().nth, place);
            let known = roll.count() == 1 && layer.is_node();
            let message = if known { message } else { format!("{message} ({})", roll.names()) };
            found.at(layer.path(&key), roll.place(), message);
        }
    }
}
