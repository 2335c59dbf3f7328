//! Things of one kind: how many, and the first of them.

/// How many are told of.
const TOLD: usize = 8;

/// A count with examples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many there are.
    pub count: usize,
    /// The first of them, in sentences.
    pub examples: Vec<String>,
}

impl Tally {
    /// Adds one. It is put into words only where there is room for it.
    pub fn add(&mut self, words: impl FnOnce() -> String) {
        self.count += 1;
        if self.examples.len() < TOLD {
            self.examples.push(words());
        }
    }

    /// Adds all of another.
    pub fn join(&mut self, other: Self) {
        self.count += other.count;
        let room = TOLD.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
