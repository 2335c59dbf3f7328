//! `$patch: delete`: the deletions of a patch.
//!
//! Not here: the removals of JSON patches ([`json`](super::json)).

use std::fmt;

use serde_json::{Map, Value};

use crate::config::Document;
use crate::key_path::{KeyPath, Step};
use crate::kind;
use crate::load::API_VERSION;
use crate::types;
use crate::types::scalar::Scalar;
use crate::types::{FieldType, Types};
use ichor_values::TalosVersion;
use ichor_values::go_yaml::reader::{SyntaxError, YamlNode, YamlValue};

/// A part of a configuration to delete.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    api_version: String,
    kind: String,
    name: String,
    path: KeyPath,
    /// For an item of a list: the key and value it is known by.
    item: Option<(String, String)>,
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let document =
            if self.kind.is_empty() { String::new() } else { format!("{} {} ", self.kind, self.name) };
        write!(f, "`$patch: delete` of {document}{}", self.path)
    }
}

/// Removes the deletions from a document of a patch and returns them, and whether anything remains to merge.
pub(crate) fn extract(document: &mut YamlNode) -> Result<(Vec<Selector>, bool), SyntaxError> {
    if document.is_null() || document.entries().is_none() {
        return Ok((Vec::new(), true));
    }
    let word = |key| document.get(key).and_then(YamlNode::text).unwrap_or_default().to_owned();
    let mut finder = Finder {
        api_version: word("apiVersion"),
        kind: word("kind"),
        name: word("name"),
        path: KeyPath::default(),
        found: Vec::new(),
    };
    let is_complete = finder.find(document, false)?;
    let left = !is_complete && !is_empty_document(document);
    Ok((finder.found, left))
}

/// Whether only its kind and name are left.
fn is_empty_document(document: &YamlNode) -> bool {
    document.entries().is_some_and(|entries| {
        entries.iter().all(|(key, value)| {
            value.text().is_some() && key.text().is_some_and(|key| ["version", "kind", "name"].contains(&key))
        })
    })
}

struct Finder {
    api_version: String,
    kind: String,
    name: String,
    path: KeyPath,
    found: Vec<Selector>,
}

impl Finder {
    /// Finds deletions in a node, and returns whether the node is deleted completely.
    fn find(&mut self, node: &mut YamlNode, in_list: bool) -> Result<bool, SyntaxError> {
        let line = node.line;
        match &mut node.body {
            YamlValue::Map(entries) => {
                let mut nth = 0;
                while nth < entries.len() {
                    let (key, value) = &mut entries[nth];
                    let name = key.text().unwrap_or_default().to_owned();
                    if name == "$patch" && value.text() == Some("delete") {
                        let item = if in_list { Some(item(entries, line)?) } else { None };
                        self.add(item, line)?;
                        return Ok(true);
                    }
                    self.path.0.push(Step::Key(name));
                    let gone = self.find(value, false)?;
                    self.path.0.pop();
                    if gone {
                        entries.remove(nth);
                        if entries.is_empty() {
                            return Ok(true);
                        }
                    } else {
                        nth += 1;
                    }
                }
            }
            YamlValue::List(items) => {
                let mut nth = 0;
                while nth < items.len() {
                    self.path.0.push(Step::Item(nth));
                    let gone = self.find(&mut items[nth], true)?;
                    self.path.0.pop();
                    if gone {
                        items.remove(nth);
                        if items.is_empty() {
                            return Ok(true);
                        }
                    } else {
                        nth += 1;
                    }
                }
            }
            YamlValue::Plain(_) | YamlValue::Text(_) => {}
        }
        Ok(false)
    }

    fn add(&mut self, item: Option<(String, String)>, line: u32) -> Result<(), SyntaxError> {
        let refuse = |reason: String| Err(SyntaxError { line, reason });
        if item.is_none() && self.path.0.iter().any(|step| matches!(step, Step::Item(_))) {
            return refuse(format!(
                "{}: a key inside an item of a list cannot be deleted, only the item",
                self.path
            ));
        }
        if self.path.0.is_empty() && (self.kind.is_empty() || self.api_version.is_empty()) {
            return refuse("a document is deleted by its `apiVersion` and `kind`".to_owned());
        }
        if self.kind.is_empty() != self.api_version.is_empty() {
            return refuse("a document is named by `apiVersion` and `kind` together".to_owned());
        }
        let selector = Selector {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            name: self.name.clone(),
            path: self.path.clone(),
            item,
        };
        self.found.push(selector);
        Ok(())
    }
}

/// The first key and value of an item beside `$patch`.
fn item(entries: &[(YamlNode, YamlNode)], line: u32) -> Result<(String, String), SyntaxError> {
    let mut others = entries.iter().filter(|(key, _)| key.text() != Some("$patch"));
    match others.next() {
        Some((key, value)) => {
            Ok((key.text().unwrap_or_default().to_owned(), value.text().unwrap_or_default().to_owned()))
        }
        None => Err(SyntaxError { line, reason: "an item is deleted by one of its keys".to_owned() }),
    }
}

impl Selector {
    /// The kind and name of the document. A selector without a name fits no document that could have one.
    pub fn identity(&self) -> (&'static str, String) {
        let known = kind::find(&self.kind).filter(|_| self.api_version == API_VERSION);
        match known {
            Some(kind) if kind.named != self.name.is_empty() => (kind.name, self.name.clone()),
            Some(_) => ("?", self.name.clone()),
            None if self.kind.is_empty() => ("", String::new()),
            None => ("?", String::new()),
        }
    }

    /// Whether it deletes the complete document.
    pub(crate) fn is_document(&self) -> bool {
        self.path.0.is_empty()
    }

    /// Takes it out of the document.
    pub(crate) fn apply(&self, document: &mut Document, talos: &TalosVersion) -> Result<(), DeletionError> {
        let types = Types::get();
        let minor = types::minor(talos);
        let kind = FieldType::Struct(types.of_document(document.kind));
        let deletion = Deletion { types, minor, item: self.item.as_ref() };
        deletion.delete(&mut document.value, &kind, &self.path.0)
    }
}

struct Deletion<'s> {
    types: &'static Types,
    minor: u16,
    item: Option<&'s (String, String)>,
}

/// Why Talos does not delete something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeletionError {
    /// It is missing, or Talos does not find it.
    #[error("there is nothing to delete")]
    Nothing,
    /// Older releases do not descend into the field.
    #[error("Talos does not find this field before 1.14")]
    Inlined,
    /// Older releases do not descend into untyped maps.
    #[error("Talos deletes nothing below this key before 1.14")]
    Tree,
    /// The items of the list are words.
    #[error("only items that are maps can be deleted: delete the list and write a new one")]
    Words,
    /// The key does not identify an item.
    #[error("Talos does not find an item by `{key}`")]
    Key {
        /// The key.
        key: String,
    },
}

impl Deletion<'_> {
    fn delete(&self, value: &mut Value, kind: &FieldType, path: &[Step]) -> Result<(), DeletionError> {
        match (kind, value, path) {
            (FieldType::Optional(_), Value::Null, _) => Err(DeletionError::Nothing),
            (FieldType::Optional(kind), value, path) => self.delete(value, kind, path),
            (FieldType::Struct(place), Value::Object(map), [Step::Key(key), rest @ ..]) => {
                let structure = self.types.structure(*place);
                // Talos does not find the parts of a certificate.
                let Some(field) = structure.field(key, self.minor).filter(|field| !field.always) else {
                    return Err(DeletionError::Nothing);
                };
                if field.inlined && self.minor < 14 {
                    return Err(DeletionError::Inlined);
                }
                if rest.is_empty() {
                    map.remove(key);
                    return Ok(());
                }
                let none =
                    matches!(field.kind, FieldType::Optional(_) | FieldType::List(_) | FieldType::Map(_));
                match map.get_mut(key) {
                    Some(value) => self.delete(value, &field.kind, rest),
                    None if none => Err(DeletionError::Nothing),
                    None => self.delete(&mut Value::Object(Map::new()), &field.kind, rest),
                }
            }
            (FieldType::Map(kind), Value::Object(map), [Step::Key(key), rest @ ..]) => {
                match (map.get_mut(key), rest.is_empty()) {
                    (None, _) => Err(DeletionError::Nothing),
                    (Some(_), true) => {
                        map.remove(key);
                        Ok(())
                    }
                    (Some(value), false) => self.delete(value, kind, rest),
                }
            }
            (FieldType::Arguments, Value::Object(map), [Step::Key(key)]) => {
                map.remove(key).map(|_| ()).ok_or(DeletionError::Nothing)
            }
            (FieldType::Tree, _, _) if self.minor < 14 => Err(DeletionError::Tree),
            (FieldType::Tree, value, path) => delete_any(value, path),
            (FieldType::List(kind), Value::Array(items), [Step::Item(_)]) => self.delete_item(items, kind),
            _ => Err(DeletionError::Nothing),
        }
    }

    fn delete_item(&self, items: &mut Vec<Value>, kind: &FieldType) -> Result<(), DeletionError> {
        let (key, value) = self.item.ok_or(DeletionError::Nothing)?;
        let kind = match kind {
            FieldType::Optional(kind) => kind,
            kind => kind,
        };
        let FieldType::Struct(place) = kind else {
            return Err(DeletionError::Words);
        };
        let Some(field) = self.types.structure(*place).field(key, self.minor) else {
            return Err(DeletionError::Nothing);
        };
        let kind = match &field.kind {
            FieldType::Optional(kind) if self.minor >= 14 => kind,
            kind => kind,
        };
        let compares = match kind {
            _ if field.always => false,
            FieldType::Scalar(Scalar::Text) => true,
            FieldType::Scalar(
                Scalar::Mode | Scalar::Form(_) | Scalar::Word(_) | Scalar::Choice(_) | Scalar::RoutingTable,
            ) => self.minor >= 14,
            _ => false,
        };
        if !compares {
            return Err(DeletionError::Key { key: key.clone() });
        }
        let found = |item: &Value| match item.get(key) {
            Some(Value::Number(mode)) => mode.as_u64().is_some_and(|mode| format!("0o{mode:o}") == *value),
            found => found.and_then(Value::as_str).unwrap_or_default() == value,
        };
        let place =
            items.iter().position(|item| item.is_object() && found(item)).ok_or(DeletionError::Nothing)?;
        items.remove(place);
        Ok(())
    }
}

/// Below a map without types only keys of maps are found.
fn delete_any(value: &mut Value, path: &[Step]) -> Result<(), DeletionError> {
    match (value, path) {
        (Value::Object(map), [Step::Key(key)]) => map.remove(key).map(|_| ()).ok_or(DeletionError::Nothing),
        (Value::Object(map), [Step::Key(key), rest @ ..]) => match map.get_mut(key) {
            Some(value) => delete_any(value, rest),
            None => Err(DeletionError::Nothing),
        },
        _ => Err(DeletionError::Nothing),
    }
}
