//! Why nothing is done with a node, and what would help.

use ichor_values::Issue;

use super::contact::NodeAddress;

/// What keeps a node, or the cluster, from being brought up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// Where it was seen.
    pub at: Option<NodeAddress>,
    /// What is wrong. The subject is where it was seen, in words.
    pub issue: Issue,
}

impl Blocker {
    /// What is wrong with what was seen at `at`, and what to do about it.
    pub fn new(at: Option<NodeAddress>, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        let subject = at.map(|at| format!("at {at}")).unwrap_or_default();
        Self { at, issue: Issue::error(subject, reason).with_help(remedy) }
    }

    /// What to do about it.
    pub fn remedy(&self) -> &str {
        self.issue.help.as_deref().unwrap_or_default()
    }
}
