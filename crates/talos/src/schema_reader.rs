//! Talos' smaller files, read by types written by hand: schematics, network configurations, secrets.
//!
//! [`SchemaReader`] decodes [`YamlNode`]s as a Go type would, and collects everything that does not fit: a number is accepted
//! as text, `on` as a boolean, and an empty node as the empty value, but text is never accepted as a number.
//!
//! Not here: reading YAML ([`yaml`](ichor_values::go_yaml::reader)), and configurations, whose types are tables ([`load`](super::load)).

use std::collections::BTreeSet;
use std::fmt;

use ichor_values::go_yaml::reader::{YamlNode, YamlValue};
use ichor_values::go_yaml::scalar::{Leniency, ScalarValue};
use ichor_values::nearest;

/// A value that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Counted from 1.
    pub line: u32,
    /// The problem, and the valid form.
    pub reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

/// Decodes nodes into Go's types, and collects every value that does not fit.
#[derive(Debug)]
pub(super) struct SchemaReader {
    leniency: Leniency,
    faults: Vec<Fault>,
}

impl SchemaReader {
    /// A reader as lenient as a program's go-yaml.
    pub(super) fn new(leniency: Leniency) -> Self {
        SchemaReader { leniency, faults: Vec::new() }
    }

    /// The value, unless there were faults.
    pub(super) fn finish<T>(self, read: T) -> Result<T, Vec<Fault>> {
        if self.faults.is_empty() { Ok(read) } else { Err(self.faults) }
    }

    /// Notes that a node does not fit.
    pub(super) fn fault(&mut self, node: &YamlNode, reason: impl fmt::Display) {
        self.faults.push(Fault { line: node.line, reason: reason.to_string() });
    }

    /// A text. None for an empty node, which lists drop.
    pub(super) fn text(&mut self, node: &YamlNode, path: &str) -> Option<String> {
        match node.word() {
            Some(ScalarValue::Null) => None,
            Some(ScalarValue::Time(_)) if !self.leniency.dates => {
                let text = node.text().unwrap_or_default();
                self.fault(node, format_args!("`{path}` takes text, and {text} without quotes is a date"));
                None
            }
            Some(_) => node.text().map(str::to_owned),
            None => {
                self.fault(node, format_args!("{} takes text, not {}", describe_path(path), name(node)));
                None
            }
        }
    }

    /// A boolean.
    pub(super) fn flag(&mut self, node: &YamlNode, path: &str) -> Option<bool> {
        let word = node.word();
        if let Some(ScalarValue::Null | ScalarValue::Merge) = word {
            return None;
        }
        let flag = word.and_then(|word| word.flag(node.text().unwrap_or_default()));
        if flag.is_none() {
            self.fault(node, format_args!("`{path}` takes true or false"));
        }
        flag
    }

    /// An integer in a range.
    pub(super) fn number(&mut self, node: &YamlNode, path: &str, range: (i128, i128)) -> Option<i128> {
        let word = node.word();
        if let Some(ScalarValue::Null | ScalarValue::Merge) = word {
            return None;
        }
        let number = word.and_then(|word| word.integer(self.leniency));
        let fitting = number.filter(|number| (range.0..=range.1).contains(number));
        if fitting.is_none() {
            self.fault(node, format_args!("`{path}` takes a whole number from {} to {}", range.0, range.1));
        }
        fitting
    }

    /// The items of a list; none for an empty node.
    pub(super) fn items<'n>(&mut self, node: &'n YamlNode, path: &str) -> Option<&'n [YamlNode]> {
        match &node.body {
            YamlValue::List(items) => return Some(items),
            _ if matches!(node.word(), Some(ScalarValue::Null | ScalarValue::Merge)) => {}
            _ => self.fault(node, format_args!("{} takes a list, not {}", describe_path(path), name(node))),
        }
        None
    }

    /// The entries of a map, with those of merge keys; none for an empty node.
    pub(super) fn entries<'n>(
        &mut self,
        node: &'n YamlNode,
        path: &str,
    ) -> Option<Vec<(String, &'n YamlNode)>> {
        let Some(written) = node.entries() else {
            if !matches!(node.word(), Some(ScalarValue::Null | ScalarValue::Merge)) {
                self.fault(node, format_args!("{} takes a map, not {}", describe_path(path), name(node)));
            }
            return None;
        };
        let mut entries: Vec<(String, &YamlNode)> = Vec::new();
        let mut names = BTreeSet::new();
        let mut merges = Vec::new();
        for (key, value) in written {
            if key.is_merge() {
                merges.push(value);
                continue;
            }
            let Some(name) = self.text(key, path) else { continue };
            if !names.insert(name.clone()) {
                self.fault(key, format_args!("`{name}` is written twice"));
            }
            entries.push((name, value));
        }
        if merges.len() > 1 {
            self.fault(node, "`<<` is written twice");
        }
        for source in merges.into_iter().flat_map(YamlNode::sources) {
            if source.entries().is_none() {
                self.fault(source, "`<<` takes a map");
                continue;
            }
            for (name, value) in self.entries(source, path).unwrap_or_default() {
                if names.insert(name.clone()) {
                    entries.push((name, value));
                }
            }
        }
        Some(entries)
    }

    /// The entries of a map that knows its keys; unknown ones are faults.
    pub(super) fn known_fields<'n>(
        &mut self,
        node: &'n YamlNode,
        path: &str,
        names: &[&str],
    ) -> Option<Vec<(String, &'n YamlNode)>> {
        let entries = self.entries(node, path)?;
        for (name, value) in entries.iter().filter(|(name, _)| !names.contains(&name.as_str())) {
            let near = nearest(name, names.iter().copied());
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let at = [path, name].join(".");
            self.fault(value, format_args!("unknown key `{}`{hint}", at.trim_start_matches('.')));
        }
        Some(entries)
    }
}

/// The path of nested keys, for people.
fn describe_path(path: &str) -> String {
    if path.is_empty() { "the document".to_owned() } else { format!("`{path}`") }
}

fn name(node: &YamlNode) -> &'static str {
    match node.body {
        YamlValue::Plain(_) | YamlValue::Text(_) => "a word",
        YamlValue::List(_) => "a list",
        YamlValue::Map(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_values::go_yaml::reader as yaml;

    #[test]
    fn older_releases_accept_more() {
        let node = yaml::first("a: 2001-01-01\nb: 1.5\n").unwrap().unwrap();
        let read = |leniency| {
            let mut typed = SchemaReader::new(leniency);
            let text = typed.text(node.get("a").unwrap(), "a");
            let number = typed.number(node.get("b").unwrap(), "b", (0, 9));
            typed.finish((text, number))
        };

        assert_eq!(read(Leniency::for_minor(12)), Ok((Some("2001-01-01".to_owned()), Some(1))));
        assert_eq!(read(Leniency::for_minor(13)).unwrap_err().len(), 1);
        assert_eq!(read(Leniency::for_minor(14)).unwrap_err().len(), 2);
    }

    #[test]
    fn a_repeated_key_is_an_error() {
        let node = yaml::first("a: 1\nb: {<<: {a: 1}, <<: {}}\na: 2\n").unwrap().unwrap();
        let mut typed = SchemaReader::new(Leniency::NONE);

        let entries = typed.entries(&node, "").unwrap();
        typed.entries(entries[1].1, "b");

        let faults = typed.finish(()).unwrap_err();
        assert_eq!(faults[0].to_string(), "line 3: `a` is written twice");
        assert_eq!(faults[1].to_string(), "line 2: `<<` is written twice");
    }
}
