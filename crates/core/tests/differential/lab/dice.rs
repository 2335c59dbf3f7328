//! Reproducible randomness.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore as _, SeedableRng as _};

/// Makes random choices and records those that have a name.
pub struct Dice {
    random: ChaCha8Rng,
    /// The recorded choices.
    pub chosen: BTreeSet<&'static str>,
}

impl Dice {
    pub fn new(seed: u8) -> Self {
        Self { random: ChaCha8Rng::from_seed([seed; 32]), chosen: BTreeSet::new() }
    }

    pub fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.random.next_u32()).unwrap() % count
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn one_of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len())]
    }

    /// True once in `count` times.
    pub fn choose(&mut self, what: &'static str, count: usize) -> bool {
        let chosen = self.one_in(count);
        if chosen {
            self.chosen.insert(what);
        }
        chosen
    }
}
