//! Validates a loaded configuration as Talos does before a node runs it.
//!
//! [`validate`] judges a [`Config`] as `talosctl validate` of a release would: `machine` the document with `machine` and
//! `cluster`, `document` every other one alone, `together` their combination.
//! Settings that Talos accepts although they cannot work are notes.
//!
//! Not here: whether the text can be read at all ([`load`](super::load)).

mod document;
mod endpoint;
pub mod field;
mod image;
mod kubelet;
mod machine;
mod report;
mod runtime_spec;
mod subnet;
mod together;
#[cfg(test)]
mod trial;

pub use report::{Report, ReportEntry};

use ichor_values::{Issue, Severity, TalosVersion};

use super::config::Config;
use super::release;

/// The runtime mode of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A machine that Talos installs itself on.
    Metal,
    /// A machine whose disk is Talos' image already.
    Cloud,
    /// A container.
    Container,
}

/// A problem of a document of a configuration.
///
/// The severity says what Talos does: it rejects the configuration for an error; it reports a warning, and rejects the
/// configuration in strict mode (see [`is_refused`]); it does not report a note, but the setting is a likely mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentIssue {
    /// Which document, counted from 0.
    pub document: usize,
    /// The problem. The subject is the key path, such as `machine.network.interfaces[0].vip`; empty for the complete
    /// document.
    pub issue: Issue,
}

/// The context of a validation.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The release that judges.
    pub talos: &'a TalosVersion,
    /// The runtime mode.
    pub mode: Mode,
}

impl Setting<'_> {
    /// Whether the release is at least 1.`minor`.
    pub(crate) fn at_least(&self, minor: u16) -> bool {
        release::at_least(self.talos, minor)
    }
}

/// The issues found.
#[derive(Debug, Default)]
pub(crate) struct DocumentIssues {
    found: Vec<DocumentIssue>,
    document: usize,
}

impl DocumentIssues {
    /// Talos refuses it.
    pub fn error(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.add(Issue::error(path, message));
    }

    /// Talos warns.
    pub(crate) fn warning(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.add(Issue::warning(path, message));
    }

    /// Talos does not report it.
    pub(crate) fn advice(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.add(Issue::new(Severity::Note, path, message));
    }

    fn add(&mut self, issue: Issue) {
        self.found.push(DocumentIssue { document: self.document, issue });
    }
}

/// The issues of a configuration for a release and a mode.
pub fn validate(config: &Config, setting: Setting<'_>) -> Vec<DocumentIssue> {
    let mut issues = DocumentIssues::default();
    for (nth, document) in config.documents.iter().enumerate() {
        issues.document = nth;
        match document.kind {
            None => machine::validate(&document.value, setting, &mut issues),
            Some(kind) => document::validate(kind, &document.value, setting, &mut issues),
        }
    }
    together::validate(config, setting, &mut issues);
    issues.found
}

/// Whether Talos refuses a configuration with these issues.
///
/// In strict mode it rejects warnings, but only those of the document with `machine` and `cluster`: no
/// release rejects warnings of the other documents.
pub fn is_refused(config: &Config, issues: &[DocumentIssue], strict: bool) -> bool {
    issues.iter().any(|DocumentIssue { document, issue }| match issue.severity {
        Severity::Error => true,
        Severity::Warning => {
            strict && config.documents.get(*document).is_some_and(|document| document.kind.is_none())
        }
        Severity::Note => false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::config::Document;
    use crate::kind;

    #[test]
    fn strictness_is_about_the_machine_document() {
        let document = |kind| Document { kind, value: Value::Null };
        let config = Config { documents: vec![document(None), document(kind::find("BGPInstanceConfig"))] };
        let issue = |severity, document| DocumentIssue { document, issue: Issue::new(severity, "", "") };
        let refused = |severity, document, strict| is_refused(&config, &[issue(severity, document)], strict);

        assert!(refused(Severity::Error, 1, false) && refused(Severity::Warning, 0, true));
        assert!(!refused(Severity::Warning, 0, false) && !refused(Severity::Warning, 1, true));
        assert!(!refused(Severity::Note, 0, true));
    }
}
