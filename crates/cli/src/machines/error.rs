//! Errors of machine providers.

use std::error::Error;

/// A failed operation on a node's machine.
#[derive(Debug, thiserror::Error)]
#[error("{node}: cannot {operation} at {location}")]
pub(crate) struct MachineError {
    /// Node whose machine it is.
    pub node: String,
    /// Operation, as a verb with its object.
    pub operation: String,
    /// Address of the provider.
    pub location: String,
    /// Class of the failure, which decides whether a retry can help.
    pub kind: FailureKind,
    /// Cause reported by the provider.
    pub source: Box<dyn Error + Send + Sync>,
}

/// Failure classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The provider does not answer in time; retrying can help.
    Unreachable,
    /// Authentication or authorization failed.
    Denied,
    /// The provider rejected the operation, or it failed there.
    Rejected,
    /// The machine does not exist.
    Missing,
    /// A machine that ichor did not create has its name or number.
    Foreign,
    /// The provider does not support the operation.
    Unsupported,
    /// A file, program or value is missing on this machine.
    Local,
}

impl MachineError {
    /// Whether a retry can help.
    pub(crate) fn is_transient(&self) -> bool {
        self.kind == FailureKind::Unreachable
    }
}
