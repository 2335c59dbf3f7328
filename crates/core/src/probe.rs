//! Why something about a running system is not known.

use std::fmt::Display;

/// What kept a probe of a machine, a daemon or a service from its result, in the words of the edge that tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ProbeError {
    reason: String,
}

impl ProbeError {
    /// The reason is an error of the edge.
    pub fn new(reason: impl Display) -> Self {
        Self { reason: reason.to_string() }
    }
}
