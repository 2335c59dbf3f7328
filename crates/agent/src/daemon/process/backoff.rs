//! The pause before a program is restarted.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);
/// A program that ran this long has recovered.
const RECOVERED_AFTER: Duration = Duration::from_mins(1);

/// The number of consecutive ends.
#[derive(Debug, Default)]
pub(super) struct Backoff(u32);

impl Backoff {
    /// The pause after a program that ran for `ran` has ended.
    pub(super) fn next_pause(&mut self, ran: Duration) -> Duration {
        if ran >= RECOVERED_AFTER {
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

        let waits: Vec<_> = (0..9).map(|_| backoff.next_pause(Duration::from_secs(1)).as_millis()).collect();

        assert_eq!(waits, [0, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    }

    #[test]
    fn a_program_that_ran_for_a_while_is_restarted_immediately() {
        let mut backoff = Backoff::default();
        for _ in 0..5 {
            backoff.next_pause(Duration::ZERO);
        }

        assert_eq!(backoff.next_pause(RECOVERED_AFTER), Duration::ZERO);
        assert_eq!(backoff.next_pause(Duration::ZERO), FIRST);
    }
}
