//! Interning of node fingerprints, so that equal nodes are planned and checked once.
//!
//! All nodes that inherit a value from a layer share it, so two values are equal if they have the same memory address. Of
//! 100,000 nodes, few differ in more than name, index and addresses. [`node_class`](super::node_class) compares all machine
//! settings, [`bgp_group`](super::bgp_group) only the inputs of BGP: a machine with its own disk has its own class, but the
//! same BGP group as the others.

use std::collections::HashMap;
use std::hash::Hash;

use ichor_values::key::Key;

/// Numbers fingerprints from 0, in order of first use.
///
/// All values whose [`value_address`] is part of a fingerprint must live as long as this.
#[derive(Debug)]
pub(crate) struct Interner<C> {
    known: HashMap<C, usize>,
    last: Option<(C, usize)>,
}

impl<C> Default for Interner<C> {
    fn default() -> Self {
        Self { known: HashMap::new(), last: None }
    }
}

impl<C: Clone + Eq + Hash> Interner<C> {
    /// Returns the number of a fingerprint; a new one gets the next number.
    pub fn number(&mut self, class: C) -> usize {
        let next = self.known.len();
        match &self.last {
            // Equal nodes are mostly adjacent.
            Some((same, number)) if *same == class => *number,
            _ => {
                let number = *self.known.entry(class.clone()).or_insert(next);
                self.last = Some((class, number));
                number
            }
        }
    }
}

/// The memory address of a value; 0 if the key is unset.
pub fn value_address<T>(key: &Key<T>) -> usize {
    key.get().map_or(0, |value| std::ptr::from_ref(value).addr())
}
