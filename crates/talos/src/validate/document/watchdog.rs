//! The hardware watchdog.

use super::{SECOND, nanoseconds, required};
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges it.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("device"), issues);
    let timeout = document.get("timeout");
    if nanoseconds(&timeout) != 0 && nanoseconds(&timeout) < 10 * SECOND {
        issues.error(&timeout, format!("{} is too short: want at least 10s", timeout.text()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_watchdog_waits_ten_seconds() {
        check(
            "WatchdogTimerConfig",
            &[
                ("device: /dev/watchdog0\ntimeout: 10s", &[]),
                ("device: /dev/watchdog0", &[]),
                ("timeout: 9.9s", &["!device", "!timeout"]),
                ("device: a\ntimeout: -1m", &["!timeout"]),
            ],
        );
    }
}
