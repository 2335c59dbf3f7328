//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

use ichor_values::Moment;

/// The present moment, to the second.
pub(super) fn now() -> Moment {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Moment::from_unix(seconds).unwrap_or_else(|| Moment::from_unix(0).expect("1970"))
}
