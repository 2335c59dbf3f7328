//! What is wrong, with what, and what helps: the one shape of everything that is reported.
//!
//! Where more is known, such as the place in a file or the rule that reports it, a type of its own holds an [`Issue`].

use std::fmt;

/// How bad it is.
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

/// One thing that is wrong. It quotes no secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Issue {
    /// What it is about: a key path, a node, a document; empty for the whole of what was read.
    pub subject: String,
    /// What is wrong.
    pub message: String,
    /// What helps, or what would have been right.
    pub help: Option<String>,
    /// How bad it is.
    pub severity: Severity,
}

impl Issue {
    /// An issue without advice.
    pub fn new(severity: Severity, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self { subject: subject.into(), message: message.into(), help: None, severity }
    }

    /// Something that will not work.
    pub fn error(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, subject, message)
    }

    /// Something that works, but will hurt.
    pub fn warning(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, subject, message)
    }

    /// Adds what helps.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What it is about and what is wrong, without the advice.
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
