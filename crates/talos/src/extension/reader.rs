//! Reads the YAML of extensions and records the unknown keys that Talos ignores.

use std::collections::BTreeMap;

use super::verdict::Remark;
use crate::release;
use crate::schema_reader::{Fault, SchemaReader};
use crate::types;
use ichor_values::TalosVersion;
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::YamlNode;
use ichor_values::go_yaml::scalar::Leniency;
use ichor_values::nearest;

/// A reader that records what Talos ignores.
pub(super) struct ManifestReader<'f> {
    file: &'f str,
    typed: SchemaReader,
    passed_over: Vec<Remark>,
}

/// The first document of a text, or why Talos cannot read it.
pub(super) fn document(file: &str, bytes: &[u8], talos: &TalosVersion) -> Result<YamlNode, Remark> {
    let fix = "write it as YAML";
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(Remark::for_file(file, "not UTF-8: Talos reads text", fix));
    };
    let is_refused = |c: char| is_control(c, talos);
    if let Some((_, line)) = text.split('\n').zip(1..).find(|(line, _)| line.contains(is_refused)) {
        let fix = "remove it, or write it as an escape in double quotes";
        return Err(
            Remark::for_file(file, "a control character, which Talos' reader refuses", fix).at(line, "")
        );
    }
    match yaml::first(text) {
        Ok(Some(node)) => Ok(node),
        Ok(None) => Err(Remark::for_file(file, "empty: there is nothing to read", fix)),
        Err(error) => {
            Err(Remark::for_file(file, format!("not YAML: {}", error.reason), fix).at(error.line, ""))
        }
    }
}

/// Whether go-yaml rejects a character anywhere in a text. Talos accepts DEL and the characters after it since 1.13.
fn is_control(c: char, talos: &TalosVersion) -> bool {
    match c {
        '\t' | '\r' | '\u{85}' => false,
        '\u{7f}'..='\u{9f}' => !release::at_least(talos, 13),
        _ => c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}'),
    }
}

/// Warns of further documents, which Talos does not read.
pub(super) fn further_documents(file: &str, bytes: &[u8]) -> Option<Remark> {
    let documents = yaml::parse(std::str::from_utf8(bytes).ok()?).ok()?;
    let second = documents.get(1)?;
    let fix = "one document in one file; a service has a file of its own";
    Some(
        Remark::for_file(file, "Talos reads the first document and ignores this one", fix)
            .at(second.line, ""),
    )
}

impl<'f> ManifestReader<'f> {
    pub(super) fn new(file: &'f str, talos: &TalosVersion) -> Self {
        ManifestReader {
            file,
            typed: SchemaReader::new(Leniency::for_minor(types::minor(talos))),
            passed_over: Vec::new(),
        }
    }

    /// The value and its ignored keys, or every problem.
    pub(super) fn finish<T>(self, read: T) -> Result<(T, Vec<Remark>), Vec<Remark>> {
        let remark = |fault: Fault| {
            Remark::for_file(self.file, fault.reason, "write a value that Talos accepts").at(fault.line, "")
        };
        match self.typed.finish(read) {
            Ok(read) => Ok((read, self.passed_over)),
            Err(faults) => Err(faults.into_iter().map(remark).collect()),
        }
    }

    /// Notes that a node does not fit.
    pub(super) fn fault(&mut self, node: &YamlNode, reason: impl std::fmt::Display) {
        self.typed.fault(node, reason);
    }

    /// The fields of a record that Talos knows, each with its path.
    pub(super) fn fields<'n>(
        &mut self,
        node: &'n YamlNode,
        path: &str,
        names: &[&'static str],
    ) -> Vec<(&'static str, String, &'n YamlNode)> {
        let mut fields = Vec::new();
        let keys = node.entries().into_iter().flatten().filter_map(|(key, _)| Some((key.text()?, key.line)));
        let lines: BTreeMap<&str, u32> = keys.collect();
        for (name, value) in self.typed.entries(node, path).unwrap_or_default() {
            let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match names.iter().find(|known| **known == name) {
                Some(known) => fields.push((*known, at, value)),
                None => {
                    let line = lines.get(name.as_str()).copied().unwrap_or(value.line);
                    self.pass_over(line, &name, at, names);
                }
            }
        }
        fields
    }

    fn pass_over(&mut self, line: u32, name: &str, path: String, names: &[&'static str]) {
        let fix = match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("Talos knows {} here", names.join(", ")),
        };
        let message = "unknown key, which Talos silently ignores";
        self.passed_over.push(Remark::for_file(self.file, message, fix).at(line, path));
    }

    pub(super) fn text(&mut self, node: &YamlNode, path: &str) -> String {
        self.typed.text(node, path).unwrap_or_default()
    }

    pub(super) fn texts(&mut self, node: &YamlNode, path: &str) -> Vec<String> {
        self.items(node, path).into_iter().filter_map(|(path, item)| self.typed.text(item, &path)).collect()
    }

    pub(super) fn flag(&mut self, node: &YamlNode, path: &str) -> bool {
        self.typed.flag(node, path).unwrap_or(false)
    }

    /// A number of 32 bits, whatever it is.
    pub(super) fn number(&mut self, node: &YamlNode, path: &str) {
        self.typed.number(node, path, (0, u32::MAX.into()));
    }

    /// The items of a list, each with its path. An empty node has no items.
    pub(super) fn items<'n>(&mut self, node: &'n YamlNode, path: &str) -> Vec<(String, &'n YamlNode)> {
        let items = self.typed.items(node, path).unwrap_or_default().iter().enumerate();
        items
            .filter(|(_, item)| !item.is_null())
            .map(|(nth, item)| (format!("{path}[{nth}]"), item))
            .collect()
    }
}
