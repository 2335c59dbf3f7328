//! Classes of nodes that are alike.
//!
//! A value of a rung is shared by all nodes that have it from there, so of a hundred thousand nodes next to none differ
//! in more than name, number and addresses, and two values are known to be equal when they lie at one address. What nodes
//! of a class have in common is up to who sorts: [`kind`](super::kind) goes by all that makes a machine,
//! [`route`](super::route) by what its BGP is planned from. A machine with a disk of its own is a kind of its own, and still
//! routes like the others.

use std::collections::HashMap;
use std::hash::Hash;

use ichor_values::key::Key;

/// Numbers classes from 0, in the order in which they come.
///
/// All values whose [`address`] is part of a class must live as long as this.
#[derive(Debug)]
pub(crate) struct Classes<C> {
    known: HashMap<C, usize>,
    last: Option<(C, usize)>,
}

impl<C> Default for Classes<C> {
    fn default() -> Self {
        Self { known: HashMap::new(), last: None }
    }
}

impl<C: Clone + Eq + Hash> Classes<C> {
    /// The number of a class; a new one has the next number.
    pub fn number(&mut self, class: C) -> usize {
        let next = self.known.len();
        match &self.last {
            // Nodes that are alike mostly stand together.
            Some((same, number)) if *same == class => *number,
            _ => {
                let number = *self.known.entry(class.clone()).or_insert(next);
                self.last = Some((class, number));
                number
            }
        }
    }
}

/// Where a value lies in memory; 0 where the key is unset.
pub fn address<T>(key: &Key<T>) -> usize {
    key.get().map_or(0, |value| std::ptr::from_ref(value).addr())
}
