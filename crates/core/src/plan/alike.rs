//! Nodes that are alike: sorted by where their settings lie in memory.
//!
//! A value of a rung is shared by all nodes that have it from there, so of a hundred thousand nodes next to none differ
//! in more than name, number and addresses. What they must have in common is up to who sorts: [`kind`](super::kind)
//! goes by all that makes a machine, [`route`](super::route) by what its BGP depends on. A machine with a disk of its
//! own is a kind of its own, and still routes like the others.

use std::collections::HashMap;

use ichor_values::key::Key;

/// Numbers marks from 0, in the order in which they come: equal marks have one number.
///
/// All settings seen must live as long as this.
#[derive(Debug)]
pub struct Alike<const N: usize> {
    known: HashMap<[usize; N], usize>,
    last: Option<([usize; N], usize)>,
}

impl<const N: usize> Default for Alike<N> {
    fn default() -> Self {
        Self { known: HashMap::new(), last: None }
    }
}

impl<const N: usize> Alike<N> {
    /// The number of a mark; a new one is followed by the next number.
    pub fn number(&mut self, mark: [usize; N]) -> usize {
        let next = self.known.len();
        let number = match &self.last {
            // Nodes that are alike mostly stand together.
            Some((same, number)) if *same == mark => *number,
            _ => *self.known.entry(mark).or_insert(next),
        };
        self.last = Some((mark, number));
        number
    }
}

/// Where a value lies in memory.
pub fn id<T>(key: &Key<T>) -> usize {
    key.get().map_or(0, |value| std::ptr::from_ref(value).addr())
}
