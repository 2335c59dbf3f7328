//! Explanations of problems, for `ichor explain`.

use crate::issue::{Issue, Severity};

/// The explanation of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Its id: stable, in lower case with dashes.
    pub id: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The problem in one line.
    pub summary: &'static str,
    /// The consequence of ignoring it.
    pub failure: &'static str,
    /// The fix.
    pub fix: &'static str,
}

impl Explanation {
    /// An issue of this kind: its severity, and its fix as the help.
    pub fn issue(&self, subject: impl Into<String>, message: impl Into<String>) -> Issue {
        Issue::new(self.severity, subject, message).with_help(self.fix)
    }
}
