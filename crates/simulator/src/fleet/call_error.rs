//! Errors of the API of a simulated node.

/// The kind of an error, by the numbers gRPC gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// Not a thing one can ask for.
    InvalidArgument = 3,
    /// It took too long.
    DeadlineExceeded = 4,
    /// It does not exist.
    NotFound = 5,
    /// It exists already.
    AlreadyExists = 6,
    /// The caller is not authorized.
    PermissionDenied = 7,
    /// Not now.
    FailedPrecondition = 9,
    /// Not by this release, or not on this node.
    Unimplemented = 12,
    /// It failed within.
    Internal = 13,
    /// A dependency does not respond.
    Unavailable = 14,
    /// It went wrong.
    Unknown = 2,
}

/// Why a call fails, in Talos' words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// Its kind.
    pub(crate) code: ErrorCode,
    /// The message.
    pub message: String,
}

impl CallError {
    /// An error of a kind.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A call that only control planes answer.
    pub(super) fn not_control_plane(call: &str) -> Self {
        Self::new(ErrorCode::Unimplemented, format!("{call} is only available on control plane nodes"))
    }

    /// A call that this caller may not make.
    pub(crate) fn not_authorized() -> Self {
        Self::new(ErrorCode::PermissionDenied, "not authorized")
    }
}
