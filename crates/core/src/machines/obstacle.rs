//! What keeps machines from being made or used.

use std::fmt;

/// Something that has to be set right before anything is changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Obstacle {
    /// Whose it is: a node, a hypervisor, a controller.
    pub at: String,
    /// What is wrong.
    pub what: String,
    /// What helps.
    pub fix: String,
}

impl Obstacle {
    /// One of `at`.
    pub fn new(at: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.at, self.what, self.fix)
    }
}
