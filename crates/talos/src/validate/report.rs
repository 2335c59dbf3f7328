//! Everything a release says of the text of a configuration, with the lines it says it of.

use super::{Mode, Setting, Weight, is_refused, validate};
use crate::load;
use ichor_values::TalosVersion;
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::Node;

/// What a release says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Whether it could not even be read.
    pub load_error: bool,
    /// What is wrong, in the order of the text.
    pub entries: Vec<Entry>,
    /// Whether the release takes it.
    pub valid: bool,
}

/// Something wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How much it weighs.
    pub weight: Weight,
    /// Its line, counted from 1.
    pub line: u32,
    /// The keys that lead to it.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Report {
    /// What every release says of bytes that are no text from `line` on.
    pub fn of_no_text(line: u32) -> Self {
        let message = "not UTF-8: Talos reads text".to_owned();
        let entry = Entry { weight: Weight::Error, line, path: String::new(), message };
        Report { load_error: true, entries: vec![entry], valid: false }
    }

    /// Reads and judges a text; what `strict` does, [`is_refused`] says.
    pub fn of(text: &str, talos: &TalosVersion, mode: Mode, strict: bool) -> Self {
        match load::load(text, talos) {
            Err(error) => {
                let entries = error.problems.into_iter().map(|problem| Entry {
                    weight: Weight::Error,
                    line: problem.line,
                    path: problem.path,
                    message: problem.message,
                });
                Report { load_error: true, entries: entries.collect(), valid: false }
            }
            Ok(config) => {
                let nodes = yaml::parse(text).unwrap_or_default();
                let lost = load::lost_keys(&nodes, talos).into_iter().map(|problem| Entry {
                    weight: Weight::Advice,
                    line: problem.line,
                    path: problem.path,
                    message: problem.message,
                });
                let nodes: Vec<&Node> = nodes.iter().filter(|node| !node.is_null()).collect();
                let flaws = validate(&config, Setting { talos, mode });
                let valid = !is_refused(&config, &flaws, strict);
                let mut entries: Vec<_> = flaws
                    .into_iter()
                    .map(|flaw| Entry {
                        weight: flaw.weight,
                        line: nodes.get(flaw.document).map_or(0, |node| node.line_at(&flaw.path)),
                        path: flaw.path,
                        message: flaw.message,
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
    fn a_key_that_an_alias_hides_is_told_but_not_held_against_it() {
        let text = "\
machine:
  type: worker
  ca: {crt: aGk=}
  install: {disk: /dev/sda}
  sysctls: &args {typo: b}
  kubelet: *args
cluster: {controlPlane: {endpoint: 'https://a:6443'}}
";
        let report = Report::of(text, &TalosVersion::parse("1.13").unwrap(), Mode::Cloud, false);

        let found = report.entries.iter().find(|entry| entry.path == "machine.kubelet.typo").expect("told");
        assert_eq!((found.weight, found.line), (Weight::Advice, 6));
        assert!(!report.load_error);
    }
}
