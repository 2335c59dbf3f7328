//! Why a node or the cluster is not brought up, and the remedy.

use ichor_values::Issue;

use super::contact::NodeAddress;

/// A problem that prevents the bring-up of a node or of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// The address at which it was observed.
    pub at: Option<NodeAddress>,
    /// The problem. Its subject is the address, as text.
    pub issue: Issue,
}

impl Blocker {
    /// A problem observed at `at`, with its remedy.
    pub fn new(at: Option<NodeAddress>, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        let subject = at.map(|at| format!("at {at}")).unwrap_or_default();
        Self { at, issue: Issue::error(subject, reason).with_help(remedy) }
    }

    /// The remedy.
    pub fn remedy(&self) -> &str {
        self.issue.help.as_deref().unwrap_or_default()
    }
}
