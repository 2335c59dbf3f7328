//! Reading a configuration as Talos does: strictly, by the types of its release.
//!
//! [`load`] reads a complete configuration, [`Loader`] single documents. If Talos would reject it while reading, the
//! [`LoadError`] has every such place; later checks are elsewhere
//! ([`validate`](super::validate)).

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::config::{Config, Document};
use super::document::MACHINE_KEYS;
use super::go::url;
use super::key_path::{KeyPath, Step};
use super::kind::{self, DocumentKind, MAKE_LINKS};
use super::types::scalar::{self, Form, Scalar, ScalarError};
use super::types::{self, FieldType, Struct, Types};
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::{YamlNode, YamlValue};
use ichor_values::go_yaml::scalar::{Leniency, ScalarValue};
use ichor_values::{Issue, TalosVersion, nearest};

/// The only version of documents there is.
pub(crate) const API_VERSION: &str = "v1alpha1";

/// A place that Talos refuses while reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadProblem {
    /// Which document, counted from 0.
    pub document: usize,
    /// Its line, counted from 1; 0 where it was not read from a text.
    pub line: u32,
    /// The problem. Its subject is the key path.
    pub issue: Issue,
}

/// Why a configuration could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.description())]
pub struct LoadError {
    /// Every place, at least one.
    pub problems: Vec<LoadProblem>,
}

impl LoadError {
    fn description(&self) -> String {
        let description = self.problems.iter().map(|problem| {
            let line = if problem.line == 0 { String::new() } else { format!("line {}: ", problem.line) };
            format!("{line}{}", problem.issue.headline())
        });
        description.collect::<Vec<_>>().join("\n")
    }
}

impl From<yaml::SyntaxError> for LoadError {
    fn from(error: yaml::SyntaxError) -> Self {
        let problem = LoadProblem { document: 0, line: error.line, issue: Issue::error("", error.reason) };
        LoadError { problems: vec![problem] }
    }
}

/// Reads a configuration as a release does.
pub fn load(text: &str, talos: &TalosVersion) -> Result<Config, LoadError> {
    let nodes = yaml::parse(text)?;
    let mut loader = Loader::new(talos);
    let mut config = Config::default();
    let mut lines = Vec::new();
    for node in &nodes {
        loader.document = config.documents.len();
        if let Some(document) = loader.document(node) {
            config.documents.push(document);
            lines.push(node.line);
        }
    }
    if nodes.iter().all(YamlNode::is_null) {
        loader.problem(1, "", "no document: a configuration has at least one");
    }
    loader.clashes(&config, &lines);
    loader.finish(config)
}

/// The keys behind aliases that a release does not know and drops silently, in documents it can read.
pub(crate) fn lost_keys(nodes: &[YamlNode], talos: &TalosVersion) -> Vec<LoadProblem> {
    let mut loader = Loader::new(talos);
    loader.behind_aliases = true;
    for node in nodes.iter().filter(|node| !node.is_null()) {
        loader.document(node);
        loader.document += 1;
    }
    loader.problems
}

/// Reads a configuration from values as Talos writes them.
pub fn load_values(values: &[Value], talos: &TalosVersion) -> Result<Config, LoadError> {
    let mut loader = Loader::new(talos);
    let mut config = Config::default();
    for value in values {
        loader.document = config.documents.len();
        config.documents.extend(loader.document(&YamlNode::from(value)));
    }
    let lines = vec![0; config.documents.len()];
    loader.clashes(&config, &lines);
    loader.finish(config)
}

/// Reports documents that Talos does not accept together.
pub(crate) fn check_clashes(config: &Config, talos: &TalosVersion) -> Result<(), LoadError> {
    let mut loader = Loader::new(talos);
    loader.clashes(config, &vec![0; config.documents.len()]);
    loader.finish(())
}

/// Reads documents and collects their problems.
#[derive(Debug)]
pub(crate) struct Loader {
    types: &'static Types,
    minor: u16,
    leniency: Leniency,
    /// Whether null is refused as an item of a list or map of optional values, which 1.14 took until its release candidates.
    refuses_null: bool,
    /// Whether only the keys behind aliases are checked. Talos does not check them, and loses unknown ones.
    behind_aliases: bool,
    document: usize,
    path: KeyPath,
    problems: Vec<LoadProblem>,
}

impl Loader {
    /// A loader that reads as a release does.
    pub(crate) fn new(talos: &TalosVersion) -> Self {
        let minor = types::minor(talos);
        Loader {
            types: Types::get(),
            minor,
            leniency: Leniency::for_minor(minor),
            refuses_null: minor >= 14 && !talos.is_pre_release(),
            behind_aliases: false,
            document: 0,
            path: KeyPath::default(),
            problems: Vec::new(),
        }
    }

    /// Notes that a document is refused.
    pub(crate) fn refuse(&mut self, node: &YamlNode, why: &str) {
        self.problem(node.line, "", why);
    }

    /// The value, unless there were problems.
    pub(crate) fn finish<T>(self, read: T) -> Result<T, LoadError> {
        if self.problems.is_empty() { Ok(read) } else { Err(LoadError { problems: self.problems }) }
    }

    /// Reads a document; none if it is empty or has problems.
    pub fn document(&mut self, node: &YamlNode) -> Option<Document> {
        let Some(entries) = node.entries() else {
            if !node.is_null() {
                self.problem(
                    node.line,
                    "",
                    "not a map: a document is `machine` and `cluster`, or has a `kind`",
                );
            } else if self.minor < 12 {
                self.problem(
                    node.line,
                    "",
                    "an empty document, which Talos refuses before 1.12: leave out the `---`",
                );
            }
            return None;
        };
        let kind = match self.kind(node, entries) {
            Ok(kind) => kind,
            Err((key, message)) => {
                self.problem(node.line, key, &message);
                return None;
            }
        };
        let place = self.types.of_document(kind);
        let before = self.problems.len();
        let value = self.structure(node, self.types.structure(place), kind.is_some())?;
        (self.problems.len() == before).then_some(Document { kind, value: Value::Object(value) })
    }

    /// The kind of a document, or the key that is invalid and why.
    fn kind(
        &self,
        node: &YamlNode,
        entries: &[(YamlNode, YamlNode)],
    ) -> Result<Option<DocumentKind>, (&'static str, String)> {
        let word =
            |key| node.get(key).filter(|value| !value.is_null()).and_then(YamlNode::text).unwrap_or_default();
        let is_machine =
            entries.iter().any(|(key, _)| key.text().is_some_and(|key| MACHINE_KEYS.contains(&key)));
        let version = if is_machine { API_VERSION } else { word("apiVersion") };
        match (version, word("kind")) {
            (API_VERSION, "") => Ok(None),
            (_, "") => Err((
                "kind",
                "missing: every document but the one with `machine` must have a kind".to_owned(),
            )),
            ("", _) => Err(("apiVersion", "missing: `apiVersion: v1alpha1`".to_owned())),
            (API_VERSION, name) => match kind::find(name) {
                Some(kind) if kind.since <= self.minor => Ok(Some(kind)),
                Some(kind) => Err((
                    "kind",
                    format!("Talos has `{name}` from 1.{} on, not in 1.{}", kind.since, self.minor),
                )),
                None => {
                    let known = kind::all().filter(|kind| kind.since <= self.minor).map(|kind| kind.name);
                    let near = nearest(name, known).map(|near| format!("; did you mean `{near}`?"));
                    Err(("kind", format!("Talos knows no kind `{name}`{}", near.unwrap_or_default())))
                }
            },
            (version, _) => {
                let message = format!("`{version}` is not a version that Talos knows: use `v1alpha1`");
                Err(("apiVersion", message))
            }
        }
    }

    /// The fields of a struct that are not zero.
    fn structure(
        &mut self,
        node: &YamlNode,
        structure: &Struct,
        is_document: bool,
    ) -> Option<Map<String, Value>> {
        let entries = self.entries(node)?;
        let mut map = Map::new();
        for (key, value) in entries {
            let name = key.text().unwrap_or_default();
            if is_document && ["apiVersion", "kind"].contains(&name) {
                map.insert(name.to_owned(), Value::from(value.text().unwrap_or_default()));
                continue;
            }
            let Some(field) = structure.field(name, self.minor) else {
                if self.behind_aliases == node.alias {
                    self.unknown_key(if node.alias { node.line } else { key.line }, name, structure);
                }
                continue;
            };
            self.path.0.push(Step::Key(name.to_owned()));
            if let Some(value) = self.value(value, &field.kind)
                && (field.always || !is_zero(&field.kind, &value))
            {
                map.insert(name.to_owned(), value);
            }
            self.path.0.pop();
        }
        for field in structure.fields(self.minor).filter(|field| field.always) {
            map.entry(field.name).or_insert_with(|| zero(&field.kind));
        }
        Some(map)
    }

    /// The entries of a value that must be a map.
    fn entries<'n>(&mut self, node: &'n YamlNode) -> Option<&'n [(YamlNode, YamlNode)]> {
        let entries = node.entries();
        if entries.is_none() {
            self.problem(node.line, "", "want a map, not a word or list");
        }
        entries
    }

    fn unknown_key(&mut self, line: u32, name: &str, structure: &Struct) {
        let near = nearest(name, structure.fields(self.minor).map(|field| field.name));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let lost =
            if self.behind_aliases { ", and silently drops it where an alias refers to it" } else { "" };
        self.problem(line, name, &format!("Talos 1.{} knows no such key{lost}{near}", self.minor));
    }

    /// The value of a node for a type; none if it is null or invalid.
    pub fn value(&mut self, node: &YamlNode, kind: &FieldType) -> Option<Value> {
        if node.is_null() {
            return None;
        }
        match kind {
            FieldType::Optional(kind) => self.value(node, kind),
            FieldType::Scalar(scalar) => match self.word(node, *scalar) {
                Ok(value) => Some(value),
                Err(error) => {
                    self.problem(node.line, "", &error.to_string());
                    None
                }
            },
            FieldType::Struct(place) => {
                self.structure(node, self.types.structure(*place), false).map(Value::Object)
            }
            FieldType::List(kind) => self.list(node, kind),
            FieldType::Map(kind) => self.map(node, kind),
            FieldType::Tree => self.tree(node),
            FieldType::Arguments => self.arguments(node),
        }
    }

    /// A word of a type, as the release reads it.
    fn word(&self, node: &YamlNode, scalar: Scalar) -> Result<Value, ScalarError> {
        let value = scalar.read(node, self.leniency)?;
        let bare =
            || value.as_str().and_then(|text| url::parse(text).ok()).is_some_and(|url| url.has_bare_colons());
        if scalar == Scalar::Form(Form::Url) && self.minor >= 13 && bare() {
            return Err(ScalarError::BareAddress);
        }
        Ok(value)
    }

    fn list(&mut self, node: &YamlNode, kind: &FieldType) -> Option<Value> {
        let YamlValue::List(items) = &node.body else {
            self.problem(node.line, "", "want a list, not a word or map");
            return None;
        };
        let mut list = Vec::with_capacity(items.len());
        for (nth, item) in items.iter().enumerate() {
            self.path.0.push(Step::Item(nth));
            self.check_null(item, kind);
            match self.value(item, kind) {
                Some(value) => list.push(value),
                None if matches!(kind, FieldType::Optional(_)) && item.is_null() => list.push(Value::Null),
                None => {}
            }
            self.path.0.pop();
        }
        Some(Value::Array(list))
    }

    fn map(&mut self, node: &YamlNode, kind: &FieldType) -> Option<Value> {
        let entries = self.entries(node)?;
        let mut map = Map::new();
        for (key, value) in entries {
            let name = key.text().unwrap_or_default();
            if key.is_merge() {
                for source in value.sources() {
                    let Some(Value::Object(source)) = self.map(source, kind) else { continue };
                    for (key, value) in source {
                        map.entry(key).or_insert(value);
                    }
                }
                continue;
            }
            if matches!(key.word(), Some(ScalarValue::Time(_))) && !self.leniency.dates {
                self.problem(key.line, name, "want text, not a date: put it in quotes");
            }
            self.path.0.push(Step::Key(name.to_owned()));
            self.check_null(value, kind);
            let value = if value.is_null() { Some(zero(kind)) } else { self.value(value, kind) };
            if let Some(value) = value {
                map.insert(name.to_owned(), value);
            }
            self.path.0.pop();
        }
        Some(Value::Object(map))
    }

    fn check_null(&mut self, node: &YamlNode, kind: &FieldType) {
        if self.refuses_null && node.is_null() && matches!(kind, FieldType::Optional(_)) {
            self.problem(node.line, "", "null, where Talos wants a value: write one, or leave it out");
        }
    }

    fn tree(&mut self, node: &YamlNode) -> Option<Value> {
        let entries = self.entries(node)?;
        for (line, why) in stumbles(node) {
            self.problem(line, "", why);
        }
        match scalar::tree(entries) {
            Ok(map) => Some(Value::Object(map)),
            Err(error) => {
                self.problem(node.line, "", &error.to_string());
                None
            }
        }
    }

    /// Arguments: words, or lists of words.
    fn arguments(&mut self, node: &YamlNode) -> Option<Value> {
        let text = FieldType::Scalar(scalar::Scalar::Text);
        let entries = self.entries(node)?;
        let mut map = Map::new();
        for (key, value) in entries {
            let name = key.text().unwrap_or_default();
            self.path.0.push(Step::Key(name.to_owned()));
            let kind = if matches!(value.body, YamlValue::List(_)) {
                &FieldType::List(Box::new(text.clone()))
            } else {
                &text
            };
            let value = if value.is_null() { Some(Value::from("")) } else { self.value(value, kind) };
            if let Some(value) = value {
                map.insert(name.to_owned(), value);
            }
            self.path.0.pop();
        }
        Some(Value::Object(map))
    }

    /// Documents that Talos does not accept together: duplicates, or two for one subject.
    fn clashes(&mut self, config: &Config, lines: &[u32]) {
        let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
        let mut links: HashMap<&str, usize> = HashMap::new();
        for (nth, document) in config.documents.iter().enumerate() {
            self.document = nth;
            let first = |nth: usize| match lines[nth] {
                0 => format!("the first is document {}", nth + 1),
                line => format!("the first is on line {line}"),
            };
            let (kind, name) = (document.kind.map_or("", |kind| kind.name), document.name());
            if let Some(before) = seen.insert((kind, name), nth) {
                let what = match (kind, name) {
                    ("", _) => "with `machine` and `cluster`".to_owned(),
                    (kind, "") => kind.to_owned(),
                    (kind, name) => format!("{kind} `{name}`"),
                };
                self.problem(lines[nth], "", &format!("a second document {what}; {}", first(before)));
                continue;
            }
            for other in rivals(kind) {
                if let Some(before) = seen.get(&(other, name)) {
                    let message = format!("`{name}` has a document {other} already; {}", first(*before));
                    self.problem(lines[nth], "name", &message);
                }
            }
            for link in links_of(kind, document) {
                if let Some(before) = links.insert(link, nth) {
                    let message = format!("the link `{link}` is set up twice; {}", first(before));
                    self.problem(lines[nth], "name", &message);
                }
            }
        }
    }

    /// Notes a problem at a key below the current one.
    fn problem(&mut self, line: u32, key: &str, message: &str) {
        let mut path = self.path.to_string();
        if !key.is_empty() {
            path += &format!("{}{key}", if path.is_empty() { "" } else { "." });
        }
        self.problems.push(LoadProblem { document: self.document, line, issue: Issue::error(path, message) });
    }
}

/// The links that a document sets up.
fn links_of<'d>(kind: &str, document: &'d Document) -> Vec<&'d str> {
    let peer =
        document.value.get("peer").map(|peer| peer.get("name").and_then(Value::as_str).unwrap_or_default());
    let own = MAKE_LINKS.contains(&kind).then(|| document.name());
    own.into_iter().chain(peer.filter(|_| kind == "VethConfig")).collect()
}

/// The other kinds that may not have a document of the same name.
fn rivals(kind: &str) -> &'static [&'static str] {
    match kind {
        "UserVolumeConfig" => &["ExistingVolumeConfig"],
        "ExistingVolumeConfig" => &["UserVolumeConfig"],
        "Layer2VIPConfig" => &["HCloudVIPConfig"],
        "HCloudVIPConfig" => &["Layer2VIPConfig"],
        _ => &[],
    }
}

/// The places in an untyped map at which Talos would fail: it cannot copy the values there.
fn stumbles(node: &YamlNode) -> Vec<(u32, &'static str)> {
    match &node.body {
        YamlValue::Plain(_) | YamlValue::Text(_) => match node.word() {
            Some(ScalarValue::Time(_)) => {
                vec![(node.line, "a date, on which Talos stumbles: quotes make it text")]
            }
            Some(ScalarValue::Float(number)) if !number.is_finite() => {
                vec![(node.line, "a number without an end: quotes make it text")]
            }
            _ => Vec::new(),
        },
        YamlValue::List(items) => items.iter().flat_map(stumbles).collect(),
        YamlValue::Map(entries) => {
            let is_text = |key: &YamlNode| matches!(key.word(), Some(ScalarValue::Text | ScalarValue::Merge));
            let keys = entries.iter().filter(|(key, _)| !is_text(key)).map(|(key, _)| {
                (key.line, "a key that is not text, on which Talos stumbles: quotes make it text")
            });
            keys.chain(entries.iter().flat_map(|(_, value)| stumbles(value))).collect()
        }
    }
}

/// Whether a value is Go's zero value: it leaves no key behind.
pub(crate) fn is_zero(kind: &FieldType, value: &Value) -> bool {
    match kind {
        FieldType::Scalar(scalar) => scalar.is_zero(value),
        FieldType::Struct(_) | FieldType::Tree => value.as_object().is_some_and(Map::is_empty),
        FieldType::Optional(_) | FieldType::List(_) | FieldType::Map(_) | FieldType::Arguments => {
            value.is_null()
        }
    }
}

/// The zero value in Go.
fn zero(kind: &FieldType) -> Value {
    match kind {
        FieldType::Scalar(scalar) => scalar.zero(),
        FieldType::Struct(_) | FieldType::Tree => Value::Object(Map::new()),
        FieldType::Optional(_) | FieldType::List(_) | FieldType::Map(_) | FieldType::Arguments => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_item_is_rejected_from_1_14_on() {
        for text in [
            "machine: {registries: {mirrors: {docker.io: null}}}",
            "machine: {network: {interfaces: [{interface: eth0, vlans: [~]}]}}",
        ] {
            let loads = |talos| load(text, &TalosVersion::parse(talos).unwrap()).is_ok();
            assert!(loads("1.13") && loads("v1.14.0-rc.1") && !loads("v1.14.1"), "{text}");
        }
    }

    #[test]
    fn a_repeated_document_is_reported_by_kind_and_name() {
        let talos = TalosVersion::parse("1.13").unwrap();
        for (document, said) in [
            (
                "kind: HostnameConfig\nauto: stable\n",
                "a second document HostnameConfig; the first is on line 1",
            ),
            ("kind: LinkConfig\nname: eth0\n", "a second document LinkConfig `eth0`; the first is on line 1"),
        ] {
            let document = format!("apiVersion: v1alpha1\n{document}");

            let error = load(&format!("{document}---\n{document}"), &talos).unwrap_err();

            assert_eq!(error.problems[0].issue.message, said);
        }
    }
}
