//! Retries of a step, with exponential backoff.

use std::time::Duration;

use tokio::time::Instant;

/// First and longest delay before a retry.
const AGAIN: Duration = Duration::from_millis(100);
const LONGEST_AGAIN: Duration = Duration::from_secs(5);

/// Failed attempts of a step.
#[derive(Clone, Default)]
pub(super) struct Retries {
    pub(super) count: u32,
    pub(super) since: Option<Instant>,
    pub(super) said: String,
}

impl Retries {
    /// Delay before the next attempt.
    pub(super) fn delay(&self) -> Duration {
        (AGAIN * 2_u32.saturating_pow(self.count.min(10))).min(LONGEST_AGAIN)
    }

    /// Records a failed attempt; false if its message is the same as before.
    pub(super) fn record_failure(&mut self, said: &str) -> bool {
        self.count += 1;
        self.since.get_or_insert_with(Instant::now);
        let new = self.said != said;
        said.clone_into(&mut self.said);
        new
    }
}
