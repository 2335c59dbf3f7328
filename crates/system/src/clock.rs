//! The clock of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use ichor_values::Moment;

/// The present, to the second; the start of 1970 if the clock is before it or after the year 9999.
pub fn now() -> Moment {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Moment::from_unix(seconds).unwrap_or_else(|| Moment::from_unix(0).expect("1970 is a year"))
}
