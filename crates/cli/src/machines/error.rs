//! Why a step of a machine was not done.

use std::error::Error;

/// A step that was not done.
#[derive(Debug, thiserror::Error)]
#[error("{node}: cannot {what} at {place}")]
pub(crate) struct MachineError {
    /// The node.
    pub node: String,
    /// What was to be done.
    pub what: String,
    /// Where.
    pub place: String,
    /// What kind of failure it is.
    pub kind: Kind,
    /// What the provider said.
    pub source: Box<dyn Error + Send + Sync>,
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nobody answers, or not in time: trying again can help.
    Unreachable,
    /// The provider does not know who asks, or does not let them.
    Denied,
    /// The provider refused it, or it failed there.
    Refused,
    /// The machine is not there.
    Absent,
    /// The machine in its place is somebody else's.
    Foreign,
    /// This provider cannot do that.
    Unable,
    /// Something on our side is missing: a file, a program, a value.
    Ours,
}

impl MachineError {
    /// Whether trying again can help.
    pub(crate) fn may_pass(&self) -> bool {
        self.kind == Kind::Unreachable
    }
}
