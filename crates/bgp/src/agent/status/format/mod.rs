//! The status as JSON: a format with a version and types of its own.
//!
//! `v1` is the current format, `v0` the one before it had a version. A reader ignores keys that it does not know: it wants to
//! know how a node is, also when the agent on it is newer.

mod v0;
mod v1;

use serde::Deserialize;
use serde_json::Value;

use super::Status;
use ichor_values::format::{Relation, Version};
pub use v1::VERSION;

/// What a status line begins with, whatever a log puts before it.
pub(super) const MARK: &str = r#"{"ichor":"status","#;

/// Why a line of a log that begins like a status is none.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// It is not what an agent writes: it may have been cut off.
    #[error("not a status of an agent")]
    Malformed(#[source] serde_json::Error),
    /// The agent is newer.
    #[error(
        "the agent writes its status in format version {0}, and this release reads versions up to {newest}; use the ichor release of \
         the agent",
        newest = v1::VERSION
    )]
    TooNew(Version),
}

/// The key with the version, which `version` is not: in version 0 that is the daemon's.
#[derive(Deserialize)]
struct Head {
    format_version: Option<Version>,
}

impl Status {
    /// The status as one line of JSON without a line end; the same status is always the same line.
    pub fn line(&self) -> String {
        let json = serde_json::to_string(&v1::Status::from(self));
        let json = json.expect("keys are texts, and no value can fail to be written");
        json.replacen('{', MARK, 1)
    }

    /// The status in a line of a log; none when the line is about something else.
    pub fn find(line: &str) -> Option<Result<Self, StatusError>> {
        let (_, rest) = line.split_once(MARK)?;
        let json = format!("{{{rest}");
        // What a log puts behind a line is no part of it.
        let first = serde_json::Deserializer::from_str(&json).into_iter::<Value>().next();
        let value = first.unwrap_or_else(|| serde_json::from_str("")).map_err(StatusError::Malformed);
        Some(value.and_then(Self::read))
    }

    fn read(value: Value) -> Result<Self, StatusError> {
        let head = Head::deserialize(&value).map_err(StatusError::Malformed)?;
        let version = head.format_version.unwrap_or(v0::VERSION);
        match version.relation_to(v1::VERSION) {
            Relation::NewerMajor => Err(StatusError::TooNew(version)),
            Relation::OlderMajor => v0::Status::deserialize(value)
                .map(|status| status.upgrade().into())
                .map_err(StatusError::Malformed),
            Relation::Known | Relation::NewerMinor => {
                v1::Status::deserialize(value).map(Into::into).map_err(StatusError::Malformed)
            }
        }
    }
}
