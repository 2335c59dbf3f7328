//! Tables of documents and their expected issues.

use crate::load;
use crate::validate::{DocumentIssue, DocumentIssues, Mode, Setting};
use ichor_values::{Severity, TalosVersion};

/// The issues of a document: `!path` for errors, `?path` for warnings, `~path` for advice, in their order.
fn issues_by(talos: &str, text: &str) -> Vec<String> {
    let talos = TalosVersion::parse(talos).unwrap();
    let config = load::load(text, &talos).unwrap_or_else(|error| panic!("{text}{error}"));
    let document = &config.documents[0];
    let kind = document.kind.expect("a kind");
    let mut issues = DocumentIssues::default();
    super::validate(kind, &document.value, Setting { talos: &talos, mode: Mode::Metal }, &mut issues);
    let mark = |severity| match severity {
        Severity::Error => '!',
        Severity::Warning => '?',
        Severity::Note => '~',
    };
    issues
        .found
        .into_iter()
        .map(|DocumentIssue { issue, .. }| format!("{}{}", mark(issue.severity), issue.subject))
        .collect()
}

/// Checks the issues of 1.14 with documents of a kind, given without their first lines.
pub(crate) fn check(kind: &str, cases: &[(&str, &[&str])]) {
    check_by("v1.14.0", kind, cases);
}

/// Checks the issues of a release with documents of a kind.
pub(crate) fn check_by(talos: &str, kind: &str, cases: &[(&str, &[&str])]) {
    for (text, said) in cases {
        let text = format!("apiVersion: v1alpha1\nkind: {kind}\n{text}\n");
        assert_eq!(issues_by(talos, &text), *said, "{text}");
    }
}
