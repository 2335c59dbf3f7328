//! A Talos configuration in memory: its documents as Talos holds them after reading.
//!
//! The value of a document is in Go's terms. A missing key is the zero value of its type: empty texts, zeros,
//! `false` and empty structs leave no key behind, unless their type is optional: an optional `false` stays. Words are in
//! the form Talos writes them back in: durations as `1m0s`, prefixes and addresses in their shortest form.
//!
//! Not here: reading them from YAML, changing them, judging them.

use serde_json::Value;

use super::kind::DocumentKind;

/// A configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Its documents, in their order.
    pub documents: Vec<Document>,
}

/// A document of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its kind; none for the document with `machine` and `cluster`.
    pub kind: Option<DocumentKind>,
    /// Its content: a map.
    pub value: Value,
}

impl Config {
    /// The document with `machine` and `cluster`.
    pub fn machine(&self) -> Option<&Document> {
        self.documents.iter().find(|document| document.kind.is_none())
    }

    /// The documents of a kind.
    pub fn of_kind<'c>(&'c self, kind: &'c str) -> impl Iterator<Item = &'c Document> {
        self.documents.iter().filter(move |document| document.kind.is_some_and(|found| found.name == kind))
    }
}

impl Document {
    /// Its name; empty where it has none.
    pub fn name(&self) -> &str {
        self.value.get("name").and_then(Value::as_str).unwrap_or_default()
    }
}
