//! Findings about nodes: the same thing about many nodes is said once.

use std::collections::BTreeMap;

use super::{Context, Found};
use crate::cluster::Place;
use crate::plan::{Kind, NodePlan};

/// How many names are written out.
const NAMED: usize = 3;

/// Collects findings about nodes. Those that stand at the same place and say the same become one.
pub(super) struct Groups<'c> {
    context: &'c Context<'c>,
    found: BTreeMap<(Option<Place>, String, String), Vec<usize>>,
}

impl<'c> Groups<'c> {
    /// Nothing found yet.
    pub fn new(context: &'c Context<'c>) -> Self {
        Self { context, found: BTreeMap::new() }
    }

    /// Says `message` of `key`, a key that nodes have or of the cluster, written at `place`, for all of `nodes`.
    pub fn add(
        &mut self,
        key: impl Into<String>,
        place: Option<Place>,
        message: impl Into<String>,
        nodes: &[usize],
    ) {
        self.found.entry((place, key.into(), message.into())).or_default().extend(nodes);
    }

    /// Reports all of it: under the rung that has the key, or under the first node.
    pub fn report(self, found: &mut Found) {
        for ((place, key, message), mut nodes) in self.found {
            nodes.sort_unstable();
            nodes.dedup();
            let first = &self.context.plan.nodes[nodes[0]];
            let owner = owner(self.context, first, place);
            let path = if owner.is_empty() { key } else { format!("{owner}.{key}") };
            let known = nodes.len() == 1 && owner.starts_with("nodes.");
            let message =
                if known { message } else { format!("{message} ({})", names(self.context, &nodes)) };
            found.at(path, place.unwrap_or(first.place), message);
        }
    }
}

/// Each kind of nodes with its first node, which stands for all of them.
pub(super) fn kinds<'c>(context: &Context<'c>) -> impl Iterator<Item = (&'c NodePlan, &'c Kind)> {
    let plan = context.plan;
    plan.kinds.iter().map(|kind| (&plan.nodes[kind.first()], kind))
}

/// The names of nodes: the first few, and how many more there are.
pub(super) fn names(context: &Context<'_>, nodes: &[usize]) -> String {
    let named: Vec<_> = nodes.iter().take(NAMED).map(|&nth| context.plan.nodes[nth].name.as_str()).collect();
    match nodes.len().checked_sub(NAMED).filter(|&more| more > 0) {
        Some(more) => format!("{} and {} more", named.join(", "), thousands(more)),
        None => named.join(", "),
    }
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The rung that holds `place`: the last one in its file that starts before it. Empty for a section of the file itself.
fn owner(context: &Context<'_>, node: &NodePlan, place: Option<Place>) -> String {
    let own = format!("nodes.{}", node.name);
    let Some(place) = place else { return own };
    let file = &context.cluster.file;
    let sections = [
        file.cluster.place(),
        file.network.place(),
        file.routing.place(),
        file.boot.place(),
        file.image.place(),
        file.overlay.place(),
    ];
    let roles = file.roles.get();
    let role = |name: &str, place: Option<Place>| (format!("roles.{name}"), place);
    let sites = file.sites.entries().map(|(name, at)| (format!("sites.{name}"), Some(at.place)));
    let groups = file.groups.entries().map(|(name, at)| (format!("groups.{name}"), Some(at.place)));
    sections
        .into_iter()
        .map(|place| (String::new(), place))
        .chain([
            ("defaults".to_owned(), file.defaults.place()),
            role("controlplane", roles.and_then(|roles| roles.controlplane.place())),
            role("worker", roles.and_then(|roles| roles.worker.place())),
            (own.clone(), Some(node.place)),
        ])
        .chain(sites)
        .chain(groups)
        .filter_map(|(name, start)| Some((name, start?)))
        .filter(|(_, start)| start.file == place.file && *start <= place)
        .max_by_key(|(_, start)| *start)
        .map_or(own, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_parted() {
        assert_eq!([7, 997, 99_997, 1_234_567].map(thousands), ["7", "997", "99,997", "1,234,567"]);
    }
}
