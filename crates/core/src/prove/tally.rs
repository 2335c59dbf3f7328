//! Things of one kind: how many, and the first of them.

/// How many are told of.
const LIMIT: usize = 8;

/// A count with examples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examples {
    /// How many there are.
    pub count: usize,
    /// The first of them, in sentences; none twice.
    pub examples: Vec<String>,
    /// How many each of the examples stands for.
    sizes: Vec<usize>,
}

impl Examples {
    /// Adds one. It is put into words only where there is room for it.
    pub fn add(&mut self, words: impl FnOnce() -> String) {
        self.add_group(1, words);
    }

    /// Adds several that one sentence tells of.
    pub(crate) fn add_group(&mut self, size: usize, words: impl FnOnce() -> String) {
        self.count += size;
        if self.has_room() {
            self.tell(size, words());
        }
    }

    /// Adds all of another.
    pub(crate) fn join(&mut self, other: Self) {
        self.count += other.count;
        for (words, size) in other.examples.into_iter().zip(other.sizes) {
            if self.has_room() {
                self.tell(size, words);
            }
        }
    }

    /// Whether one more would be told of.
    pub(crate) fn has_room(&self) -> bool {
        self.examples.len() < LIMIT
    }

    /// How many there are that no example tells of.
    pub fn untold(&self) -> usize {
        self.count - self.sizes.iter().sum::<usize>()
    }

    /// How many there are that the first example does not tell of.
    pub fn behind_first(&self) -> usize {
        self.count - self.sizes.first().copied().unwrap_or_default()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn tell(&mut self, size: usize, words: String) {
        match self.examples.iter().position(|known| *known == words) {
            Some(nth) => self.sizes[nth] += size,
            None => {
                self.examples.push(words);
                self.sizes.push(size);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_twice_is_told_once_and_counted_twice() {
        let mut tally = Examples::default();
        tally.add(|| "a".to_owned());
        tally.add_group(3, || "a".to_owned());

        tally.join(tally.clone());

        assert_eq!((tally.count, tally.examples.len(), tally.untold()), (8, 1, 0));
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let mut tally = Examples::default();
        for nth in 0..=LIMIT {
            tally.add_group(2, || nth.to_string());
        }

        assert_eq!((tally.untold(), tally.behind_first()), (2, 2 * LIMIT));
    }
}
