//! A moment in time, to the second. The current time is an argument: this crate reads no clock.

use std::fmt;
use std::time::Duration;

use der::DateTime;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A second between 1970 and 9999, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(DateTime);

impl Moment {
    /// So many seconds after the start of 1970; none beyond the year 9999.
    pub fn from_unix(seconds: u64) -> Option<Self> {
        DateTime::from_unix_duration(Duration::from_secs(seconds)).ok().map(Self)
    }

    /// Seconds since the start of 1970.
    pub fn unix(self) -> u64 {
        self.0.unix_duration().as_secs()
    }

    /// Reads RFC 3339 in UTC, such as `2026-01-31T12:00:00Z`.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// The moment `later` after this one; none beyond the year 9999.
    pub fn after(self, later: Duration) -> Option<Self> {
        Self::from_unix(self.unix().checked_add(later.as_secs())?)
    }
}

/// RFC 3339 in UTC.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!("{text:?} is not a time such as 2026-01-31T12:00:00Z"))
        })
    }
}

/// A time in its two largest units.
pub fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_and_read_in_utc() {
        let moment = Moment::from_unix(1_767_225_600).unwrap();

        assert_eq!(moment.to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(Moment::parse("2026-01-01T00:00:00Z"), Some(moment));
        assert_eq!(moment.unix(), 1_767_225_600);
    }

    #[test]
    fn years_end_with_9999() {
        assert_eq!(Moment::from_unix(u64::MAX), None);
        assert_eq!(Moment::from_unix(0).unwrap().after(Duration::MAX), None);
    }
}
