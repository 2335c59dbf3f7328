//! Why nothing is done with a node, and what would help.

use super::contact::Contact;

/// Why nothing is done with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where it was seen.
    pub at: Option<Contact>,
    /// What is wrong.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}

impl Refusal {
    /// A refusal of what was seen at `at`.
    pub fn new(at: Option<Contact>, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { at, reason: reason.into(), remedy: remedy.into() }
    }

    /// Where and what, in one sentence.
    pub fn told(&self) -> String {
        match &self.at {
            Some(at) => format!("at {at}: {}", self.reason),
            None => self.reason.clone(),
        }
    }
}
