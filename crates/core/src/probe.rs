//! The error of a failed probe of a running system.

use std::fmt::Display;

/// A failed probe of a machine, a daemon or a service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ProbeError {
    reason: String,
}

impl ProbeError {
    /// Wraps the error of the I/O layer.
    pub fn new(reason: impl Display) -> Self {
        Self { reason: reason.to_string() }
    }
}
