//! Retries of a step, with exponential backoff.

use std::time::Duration;

use tokio::time::Instant;

/// First and longest delay before a retry.
const RETRY_DELAY: Duration = Duration::from_millis(100);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Failed attempts of a step.
#[derive(Clone, Default)]
pub(super) struct Retries {
    pub(super) count: u32,
    pub(super) since: Option<Instant>,
    pub(super) message: String,
}

impl Retries {
    /// Delay before the next attempt.
    pub(super) fn delay(&self) -> Duration {
        (RETRY_DELAY * 2_u32.saturating_pow(self.count.min(10))).min(MAX_RETRY_DELAY)
    }

    /// Records a failed attempt; false if its message is the same as before.
    pub(super) fn record_failure(&mut self, message: &str) -> bool {
        self.count += 1;
        self.since.get_or_insert_with(Instant::now);
        let new = self.message != message;
        message.clone_into(&mut self.message);
        new
    }
}
