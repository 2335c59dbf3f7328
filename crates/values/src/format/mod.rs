//! Versions of the formats that one release of ichor writes and another may read.
//!
//! A [`Version`] is `MAJOR.MINOR`. A new minor version only adds keys that a reader may ignore; every other change is a new
//! major version. A [`Document`] is JSON with such a version: newer major versions are refused, and its content is read strictly
//! ([`read`](fn@read)): every unknown key is reported with its path and the nearest known key. [`Versioned`] writes one.
//!
//! Not here: the formats themselves, each beside the code that writes it.

mod document;
mod read;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use document::{Document, FormatError, Versioned};
pub use read::{DecodeOutcome, InvalidValue, UnknownKey, read};

/// The version of a format, written `MAJOR.MINOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Grows with a change that an older reader must not ignore.
    pub major: u32,
    /// Grows when keys are added that an older reader may ignore.
    pub(crate) minor: u32,
}

/// The relation of a version to the reader's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Every key is known.
    Known,
    /// Unknown keys may be ignored.
    NewerMinor,
    /// It must be refused.
    NewerMajor,
    /// Only types of its own can read it.
    OlderMajor,
}

impl Version {
    /// A version.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Reads `MAJOR.MINOR`, without signs or leading zeros; none for any other text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let plain =
                text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
            text.parse().ok().filter(|_| plain)
        };
        let (major, minor) = text.split_once('.')?;
        Some(Self { major: number(major)?, minor: number(minor)? })
    }

    /// The relation of this version to `newest`, the reader's own.
    pub fn relation_to(self, newest: Self) -> Relation {
        match self.major.cmp(&newest.major) {
            std::cmp::Ordering::Less => Relation::OlderMajor,
            std::cmp::Ordering::Greater => Relation::NewerMajor,
            std::cmp::Ordering::Equal if self.minor > newest.minor => Relation::NewerMinor,
            std::cmp::Ordering::Equal => Relation::Known,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("want a version such as 1.0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_two_numbers_without_signs_or_leading_zeros() {
        assert_eq!(Version::parse("1.0"), Some(Version::new(1, 0)));
        assert_eq!(Version::parse("12.34").unwrap().to_string(), "12.34");
        for text in ["", "1", "1.", ".1", "1.0.0", "01.0", "1.00", "+1.0", "1.-1", "v1.0", "1.4294967296"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_newer_major_version_must_be_refused() {
        let newest = Version::new(1, 2);
        let relation = |major, minor| Version::new(major, minor).relation_to(newest);

        assert_eq!(relation(1, 2), Relation::Known);
        assert_eq!(relation(1, 0), Relation::Known);
        assert_eq!(relation(1, 3), Relation::NewerMinor);
        assert_eq!(relation(2, 0), Relation::NewerMajor);
        assert_eq!(relation(0, 9), Relation::OlderMajor);
    }
}
