//! A release's complete report on the text of a configuration, with line numbers.

use super::{DocumentIssue, Mode, Setting, is_refused, validate};
use crate::load;
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::YamlNode;
use ichor_values::{Issue, Severity, TalosVersion};

/// The report of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Whether it could not even be read.
    pub load_error: bool,
    /// The problems, in the order of the text.
    pub entries: Vec<ReportEntry>,
    /// Whether the release takes it.
    pub valid: bool,
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportEntry {
    /// Its line, counted from 1.
    pub line: u32,
    /// The problem. The subject is the key path.
    pub issue: Issue,
}

impl Report {
    /// The report of every release for bytes that are not text from `line` on.
    pub fn not_text(line: u32) -> Self {
        let message = "not UTF-8: Talos reads text";
        let entry = ReportEntry { line, issue: Issue::error("", message) };
        Report { load_error: true, entries: vec![entry], valid: false }
    }

    /// Loads and validates a text; see [`is_refused`] for `strict`.
    pub fn validate(text: &str, talos: &TalosVersion, mode: Mode, strict: bool) -> Self {
        match load::load(text, talos) {
            Err(error) => {
                let entries = error
                    .problems
                    .into_iter()
                    .map(|problem| ReportEntry { line: problem.line, issue: problem.issue });
                Report { load_error: true, entries: entries.collect(), valid: false }
            }
            Ok(config) => {
                let nodes = yaml::parse(text).unwrap_or_default();
                let lost = load::lost_keys(&nodes, talos).into_iter().map(|problem| ReportEntry {
                    line: problem.line,
                    issue: Issue { severity: Severity::Note, ..problem.issue },
                });
                let nodes: Vec<&YamlNode> = nodes.iter().filter(|node| !node.is_null()).collect();
                let issues = validate(&config, Setting { talos, mode });
                let valid = !is_refused(&config, &issues, strict);
                let mut entries: Vec<_> = issues
                    .into_iter()
                    .map(|DocumentIssue { document, issue }| ReportEntry {
                        line: nodes.get(document).map_or(0, |node| node.line_at(&issue.subject)),
                        issue,
                    })
                    .chain(lost)
                    .collect();
                entries.sort_by_key(|entry| entry.line);
                Report { load_error: false, entries, valid }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_hidden_by_an_alias_is_reported_but_no_error() {
        let text = "\
machine:
  type: worker
  ca: {crt: aGk=}
  install: {disk: /dev/sda}
  sysctls: &args {typo: b}
  kubelet: *args
cluster: {controlPlane: {endpoint: 'https://a:6443'}}
";
        let report = Report::validate(text, &TalosVersion::parse("1.13").unwrap(), Mode::Cloud, false);

        let found = report
            .entries
            .iter()
            .find(|entry| entry.issue.subject == "machine.kubelet.typo")
            .expect("reported");
        assert_eq!((found.issue.severity, found.line), (Severity::Note, 6));
        assert!(!report.load_error);
    }
}
