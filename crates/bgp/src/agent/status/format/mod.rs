//! The status as JSON: a format with a version and types of its own.
//!
//! `v1` is the current format, `v0` the one before it had a version. A reader ignores unknown keys, so that it can
//! read the status of a newer agent.

mod v0;
mod v1;

use serde::Deserialize;
use serde_json::Value;

use super::AgentStatus;
use ichor_values::format::{Relation, Version};
pub use v1::VERSION;

/// The start of a status line, after any prefix of the log.
pub(super) const MARK: &str = r#"{"ichor":"status","#;

/// Why a status line cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// It is malformed, for example truncated.
    #[error("the status line is malformed")]
    Malformed(#[source] serde_json::Error),
    /// The agent is newer.
    #[error(
        "the agent writes status format version {0}, but this release reads versions up to {newest}; use the ichor release of the \
         agent",
        newest = v1::VERSION
    )]
    TooNew(Version),
}

/// The key with the version of the format. `version` is another key: the daemon's release in version 0.
#[derive(Deserialize)]
struct StatusHeader {
    format_version: Option<Version>,
}

impl AgentStatus {
    /// The status as one line of JSON without a line end; the same status is always the same line.
    pub fn line(&self) -> String {
        let json = serde_json::to_string(&v1::StatusV1::from(self));
        let json = json.expect("keys are texts, and no value can fail to be written");
        json.replacen('{', MARK, 1)
    }

    /// Reads the status in a line of a log; none if the line has no status.
    pub fn find(line: &str) -> Option<Result<Self, StatusError>> {
        let (_, rest) = line.split_once(MARK)?;
        let json = format!("{{{rest}");
        // A log may append text to the line.
        let first = serde_json::Deserializer::from_str(&json).into_iter::<Value>().next();
        let value = first.unwrap_or_else(|| serde_json::from_str("")).map_err(StatusError::Malformed);
        Some(value.and_then(Self::read))
    }

    fn read(value: Value) -> Result<Self, StatusError> {
        let head = StatusHeader::deserialize(&value).map_err(StatusError::Malformed)?;
        let version = head.format_version.unwrap_or(v0::VERSION);
        match version.relation_to(v1::VERSION) {
            Relation::NewerMajor => Err(StatusError::TooNew(version)),
            Relation::OlderMajor => v0::StatusV0::deserialize(value)
                .map(|status| status.upgrade().into())
                .map_err(StatusError::Malformed),
            Relation::Known | Relation::NewerMinor => {
                v1::StatusV1::deserialize(value).map(Into::into).map_err(StatusError::Malformed)
            }
        }
    }
}
