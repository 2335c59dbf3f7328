//! The common shape of every reported problem: subject, message and help.
//!
//! Types with more details, such as the location in a file or the rule that reports it, contain an [`Issue`].

use std::fmt;

/// The severity of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Works, but will hurt.
    Warning,
    /// Will not work.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A problem. It quotes no secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Issue {
    /// The subject: a key path, a node, a document; empty for the complete input.
    pub subject: String,
    /// The problem.
    pub message: String,
    /// The fix, or the valid form.
    pub help: Option<String>,
    /// Its severity.
    pub severity: Severity,
}

impl Issue {
    /// An issue without advice.
    pub fn new(severity: Severity, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self { subject: subject.into(), message: message.into(), help: None, severity }
    }

    /// A problem that makes the configuration fail.
    pub fn error(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, subject, message)
    }

    /// A problem that works but causes trouble later.
    pub fn warning(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, subject, message)
    }

    /// Adds the fix.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Subject and message, without the help.
    pub fn headline(&self) -> String {
        if self.subject.is_empty() {
            return self.message.clone();
        }
        format!("{}: {}", self.subject, self.message)
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Issue {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_subject_message_and_help() {
        let issue = Issue::error("solcp01", "the storage is missing").with_help("name another");

        assert_eq!(issue.to_string(), "solcp01: the storage is missing; name another");
        assert_eq!(issue.headline(), "solcp01: the storage is missing");
        assert_eq!(Issue::warning("", "the file is empty").to_string(), "the file is empty");
    }
}
