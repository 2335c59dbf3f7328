//! What `ichor explain` knows of one thing that can be wrong.

use crate::issue::{Issue, Severity};

/// One thing that can be wrong, explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Its id: stable, in lower case with dashes.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub summary: &'static str,
    /// What happens if it is ignored.
    pub failure: &'static str,
    /// What to do about it.
    pub fix: &'static str,
}

impl Explanation {
    /// An issue of this kind: its severity, and its fix as the help.
    pub fn issue(&self, subject: impl Into<String>, message: impl Into<String>) -> Issue {
        Issue::new(self.severity, subject, message).with_help(self.fix)
    }
}
