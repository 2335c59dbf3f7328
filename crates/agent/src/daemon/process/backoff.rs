//! How long to wait before a program is started again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);
/// A program that ran this long has recovered.
const QUIET: Duration = Duration::from_mins(1);

/// Ends in a row.
#[derive(Debug, Default)]
pub(super) struct Backoff(u32);

impl Backoff {
    /// The time to wait after a program ended that ran for `ran`.
    pub(super) fn after(&mut self, ran: Duration) -> Duration {
        if ran >= QUIET {
            self.0 = 0;
        }
        let ends = self.0;
        self.0 = ends.saturating_add(1);
        match ends {
            0 => Duration::ZERO,
            _ => FIRST.saturating_mul(1 << (ends - 1).min(16)).min(LONGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_restart_is_immediate_and_later_ones_wait_longer_and_longer() {
        let mut backoff = Backoff::default();

        let waits: Vec<_> = (0..9).map(|_| backoff.after(Duration::from_secs(1)).as_millis()).collect();

        assert_eq!(waits, [0, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    }

    #[test]
    fn a_program_that_ran_for_a_while_is_started_at_once() {
        let mut backoff = Backoff::default();
        for _ in 0..5 {
            backoff.after(Duration::ZERO);
        }

        assert_eq!(backoff.after(QUIET), Duration::ZERO);
        assert_eq!(backoff.after(Duration::ZERO), FIRST);
    }
}
