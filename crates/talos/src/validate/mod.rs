//! What Talos says of a configuration that it could read, before a node does.
//!
//! [`validate`] judges a [`Config`] as `talosctl validate` of a release would: `machine` the document with `machine` and
//! `cluster`, `document` every other one by itself, `together` what only shows when they stand side by side.
//! What Talos lets pass although it cannot work is a note.
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

/// Where a configuration is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A machine that Talos installs itself on.
    Metal,
    /// A machine whose disk is Talos' image already.
    Cloud,
    /// A container.
    Container,
}

/// Something wrong with a document of a configuration.
///
/// The severity says what Talos does: for an error it refuses the configuration, of a warning it warns, and may refuse when
/// asked to be strict (see [`is_refused`]); of a note it says nothing, but it cannot be meant so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentIssue {
    /// Which document, counted from 0.
    pub document: usize,
    /// What is wrong. The subject is the keys that lead to it, such as `machine.network.interfaces[0].vip`; empty for the whole
    /// document.
    pub issue: Issue,
}

/// What a validator knows beside the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The release that judges.
    pub talos: &'a TalosVersion,
    /// Where it is to run.
    pub mode: Mode,
}

impl Setting<'_> {
    /// Whether the release is at least 1.`minor`.
    pub(crate) fn at_least(&self, minor: u16) -> bool {
        release::at_least(self.talos, minor)
    }
}

/// Issues, as they are found.
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

    /// Talos says nothing.
    pub(crate) fn advice(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.add(Issue::new(Severity::Note, path, message));
    }

    fn add(&mut self, issue: Issue) {
        self.found.push(DocumentIssue { document: self.document, issue });
    }
}

/// What a release says of a configuration in a mode.
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
/// Asked to be strict it refuses what it warns of too, but only in the document with `machine` and `cluster`: every
/// release leaves warnings of the other documents at that.
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
