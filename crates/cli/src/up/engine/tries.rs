//! Steps that are tried again.

use std::time::Duration;

use tokio::time::Instant;

/// How long to wait before a step is tried again, at first and at most.
const AGAIN: Duration = Duration::from_millis(100);
const LONGEST_AGAIN: Duration = Duration::from_secs(5);

/// How often a step was tried that is not done.
#[derive(Clone, Default)]
pub(super) struct Tries {
    pub(super) count: u32,
    pub(super) since: Option<Instant>,
    pub(super) said: String,
}

impl Tries {
    /// How long to wait before the next.
    pub(super) fn pause(&self) -> Duration {
        (AGAIN * 2_u32.saturating_pow(self.count.min(10))).min(LONGEST_AGAIN)
    }

    /// One more, and what was said; false where that was said before.
    pub(super) fn again(&mut self, said: &str) -> bool {
        self.count += 1;
        self.since.get_or_insert_with(Instant::now);
        let new = self.said != said;
        said.clone_into(&mut self.said);
        new
    }
}
