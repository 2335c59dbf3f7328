//! A count with the first examples.

/// Maximum number of examples.
const LIMIT: usize = 8;

/// A count with examples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examples {
    /// Total count.
    pub count: usize,
    /// The first examples as sentences, without duplicates.
    pub examples: Vec<String>,
    /// The count of each example.
    sizes: Vec<usize>,
}

impl Examples {
    /// Adds one. `words` is called only if there is room for another example.
    pub fn add(&mut self, words: impl FnOnce() -> String) {
        self.add_group(1, words);
    }

    /// Adds several with the same example.
    pub(crate) fn add_group(&mut self, size: usize, words: impl FnOnce() -> String) {
        self.count += size;
        if self.has_room() {
            self.push(size, words());
        }
    }

    /// Adds all of `other`.
    pub(crate) fn join(&mut self, other: Self) {
        self.count += other.count;
        for (words, size) in other.examples.into_iter().zip(other.sizes) {
            if self.has_room() {
                self.push(size, words);
            }
        }
    }

    /// Whether there is room for another example.
    pub(crate) fn has_room(&self) -> bool {
        self.examples.len() < LIMIT
    }

    /// The count without an example.
    pub fn omitted(&self) -> usize {
        self.count - self.sizes.iter().sum::<usize>()
    }

    /// The count that the first example does not cover.
    pub fn beyond_first(&self) -> usize {
        self.count - self.sizes.first().copied().unwrap_or_default()
    }

    /// Whether the count is 0.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn push(&mut self, size: usize, words: String) {
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
    fn duplicate_examples_are_listed_once_and_counted_twice() {
        let mut tally = Examples::default();
        tally.add(|| "a".to_owned());
        tally.add_group(3, || "a".to_owned());

        tally.join(tally.clone());

        assert_eq!((tally.count, tally.examples.len(), tally.omitted()), (8, 1, 0));
    }

    #[test]
    fn examples_beyond_the_limit_are_counted() {
        let mut tally = Examples::default();
        for nth in 0..=LIMIT {
            tally.add_group(2, || nth.to_string());
        }

        assert_eq!((tally.omitted(), tally.beyond_first()), (2, 2 * LIMIT));
    }
}
