//! The nodes a finding is about: all of them are counted, the first few are named.

use std::fmt;

use crate::cluster::Place;
use crate::plan::{NodePlan, Origin};

/// How many nodes are named.
const NAMED: usize = 3;

/// The nodes a finding is about, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Roll<'p> {
    named: Vec<(&'p NodePlan, Place)>,
    last: Option<&'p NodePlan>,
    count: usize,
}

impl<'p> Roll<'p> {
    /// Adds a node with the place to mark; a node that comes twice in a row counts once.
    pub fn add(&mut self, node: &'p NodePlan, place: Place) {
        if !self.last.replace(node).is_some_and(|last| std::ptr::eq(last, node)) {
            self.count += 1;
            if self.named.len() < NAMED {
                self.named.push((node, place));
            }
        }
    }

    /// How many nodes there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The place of the first node.
    pub fn place(&self) -> Place {
        self.named.first().map(|(_, place)| *place).unwrap_or_default()
    }

    /// The path of `key` on the one node there is, or of the nodes as a whole.
    pub fn path(&self, key: &str) -> String {
        match self.named.as_slice() {
            [(node, _)] => path(node, key),
            _ => "nodes".to_owned(),
        }
    }

    /// The second node, or the only one: where a value stands that an earlier node has already.
    pub fn later(&self) -> Option<(&'p NodePlan, Place)> {
        self.named.get(1).or(self.named.first()).copied()
    }
}

impl<'p> FromIterator<(&'p NodePlan, Place)> for Roll<'p> {
    fn from_iter<I: IntoIterator<Item = (&'p NodePlan, Place)>>(nodes: I) -> Self {
        let mut roll = Self::default();
        for (node, place) in nodes {
            roll.add(node, place);
        }
        roll
    }
}

impl fmt::Display for Roll<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.named.iter().map(|(node, _)| node.name.as_str()).collect();
        f.write_str(&listed(&names, self.count))
    }
}

/// The first of `count` names, and how many more there are.
pub(super) fn listed(names: &[&str], count: usize) -> String {
    let rest = count - names.len().min(count);
    match names {
        _ if rest > 0 => format!("{} and {} more", names.join(", "), grouped(rest)),
        [start @ .., last] if !start.is_empty() => format!("{} and {last}", start.join(", ")),
        _ => names.join(", "),
    }
}

/// A number with its thousands set apart: `99,997`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let head = digits.len() % 3;
    let mut groups: Vec<_> = digits.as_bytes()[head..]
        .chunks(3)
        .map(|chunk| String::from_utf8_lossy(chunk).into_owned())
        .collect();
    if head > 0 {
        groups.insert(0, digits[..head].to_owned());
    }
    groups.join(",")
}

/// The path of `key` on `node`.
pub(super) fn path(node: &NodePlan, key: &str) -> String {
    if key.is_empty() { format!("nodes.{}", node.name) } else { format!("nodes.{}.{key}", node.name) }
}

/// Where a value of `node` was written; where the node stands if it was not.
pub(super) fn place(node: &NodePlan, origin: Origin) -> Place {
    match origin {
        Origin::Written(place) => place,
        Origin::Derived(..) | Origin::Default(_) => node.place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_names_are_listed_and_the_others_counted() {
        assert_eq!(listed(&["a"], 1), "a");
        assert_eq!(listed(&["a", "b"], 2), "a and b");
        assert_eq!(listed(&["a", "b", "c"], 3), "a, b and c");
        assert_eq!(listed(&["a", "b", "c"], 100_000), "a, b, c and 99,997 more");
    }

    #[test]
    fn thousands_are_set_apart() {
        let spelled = [0, 12, 123, 1234, 100_000, 1_234_567].map(grouped);

        assert_eq!(spelled, ["0", "12", "123", "1,234", "100,000", "1,234,567"]);
    }
}
