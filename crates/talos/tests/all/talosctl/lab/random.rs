//! Random choices, the same in every run.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

/// A source of choices.
pub(super) struct Random(ChaCha20Rng);

impl Random {
    /// The choices of a case; `seed` distinguishes runs.
    pub(super) fn for_case(seed: u64, case: u64) -> Self {
        let mut random = ChaCha20Rng::seed_from_u64(seed);
        random.set_stream(case);
        Self(random)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.next_u64()).expect("64 bits") % end
    }

    /// Whether something of this probability happens.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of some items.
    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// One of some words.
    pub(super) fn word(&mut self, words: &[&str]) -> String {
        (*self.pick(words)).to_owned()
    }
}
