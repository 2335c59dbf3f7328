//! The clock of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use ichor_values::Moment;

/// What time it is.
pub fn now() -> Moment {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Moment::from_unix(seconds).expect("the clock of a machine does not pass the year 9999")
}
