//! Nodes that have the same thing wrong, told as one finding.

use std::collections::BTreeMap;

use crate::cluster::Place;
use crate::plan::Plan;

/// How many nodes a finding names.
const NAMED: usize = 3;

/// Nodes by what is wrong with them.
#[derive(Debug)]
pub(super) struct Tally<K>(BTreeMap<K, Group>);

/// Some nodes, in the order of the file.
#[derive(Debug)]
pub(super) struct Group {
    /// Where it is wrong on the first of them.
    pub place: Place,
    named: Vec<usize>,
    last: usize,
    count: usize,
}

impl<K: Ord> Tally<K> {
    /// No nodes yet.
    pub(super) fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds nodes on which `what` is wrong at `place`, if there are any; the same ones again count for nothing.
    pub(super) fn add(&mut self, what: K, nodes: &[usize], place: Place) {
        if let Some(&first) = nodes.first() {
            let new = || Group { place, named: Vec::new(), last: usize::MAX, count: 0 };
            self.0.entry(what).or_insert_with(new).add(first, nodes);
        }
    }
}

impl<K> IntoIterator for Tally<K> {
    type Item = (K, Group);
    type IntoIter = std::collections::btree_map::IntoIter<K, Group>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Group {
    fn add(&mut self, first: usize, nodes: &[usize]) {
        if self.last == first {
            return;
        }
        self.last = first;
        self.count += nodes.len();
        // Nodes that route alike need not stand together.
        self.named.extend(nodes.iter().take(NAMED));
        self.named.sort_unstable();
        self.named.truncate(NAMED);
    }

    /// The number of the first of them.
    pub(super) fn first(&self) -> usize {
        self.named[0]
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Their names: `solcp01, solcp02, solcp03 and 99,997 more`.
    pub(super) fn names(&self, plan: &Plan) -> String {
        let names: Vec<_> = self.named.iter().map(|&nth| plan.nodes[nth].name.as_str()).collect();
        match (names.as_slice(), self.count - names.len()) {
            ([all @ .., last], 0) if !all.is_empty() => format!("{} and {last}", all.join(", ")),
            (_, 0) => names.join(", "),
            (_, more) => format!("{} and {} more", names.join(", "), thousands(more)),
        }
    }
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_written_in_threes() {
        assert_eq!(
            [7, 999, 1_000, 99_997, 1_234_567].map(thousands),
            ["7", "999", "1,000", "99,997", "1,234,567"]
        );
    }

    #[test]
    fn a_node_counts_once_and_the_first_are_named() {
        let mut tally = Tally::new();

        for nodes in [&[0, 4, 5][..], &[0, 4, 5], &[1, 2], &[]] {
            tally.add("same", nodes, Place::default());
        }

        let (_, group) = tally.into_iter().next().unwrap();
        assert_eq!((group.named, group.count), (vec![0, 1, 2], 5));
    }
}
