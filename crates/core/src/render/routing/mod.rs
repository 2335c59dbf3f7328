//! Configurations of routing daemons, from a node's [`Model`](crate::routing::Model).

pub mod frr;

/// Why a daemon's configuration cannot be made. It names no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// The key that asks for it.
    pub key: &'static str,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl Refusal {
    fn new(key: &'static str, reason: impl Into<String>) -> Self {
        Self { key, reason: reason.into() }
    }
}
