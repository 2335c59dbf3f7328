//! What differs between two configurations, document by document.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use crate::talos::document;

/// What a document is known by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentId {
    /// Its kind; none for the one with `machine` and `cluster`.
    pub kind: Option<String>,
    /// Its name, where its kind has one.
    pub name: Option<String>,
}

impl DocumentId {
    /// That of a document.
    pub fn of(value: &Value) -> Self {
        let text = |text: Option<&str>| text.map(ToOwned::to_owned);
        Self { kind: text(document::kind(value)), name: text(document::name(value)) }
    }

    /// The piece of a patch that removes it.
    pub fn deletion(&self) -> Value {
        let mut value = json!({"apiVersion": "v1alpha1", "kind": self.kind});
        if let Some(name) = &self.name {
            value["name"] = json!(name);
        }
        value["$patch"] = json!("delete");
        value
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, &self.name) {
            (Some(kind), Some(name)) => write!(f, "{kind} {name}"),
            (Some(kind), None) => f.write_str(kind),
            (None, _) => f.write_str("machine and cluster"),
        }
    }
}

/// Documents by what they are known by.
pub fn by_id(documents: &[Value]) -> BTreeMap<DocumentId, &Value> {
    documents.iter().map(|document| (DocumentId::of(document), document)).collect()
}

/// The documents that go, and those that come or change. Of the one with `machine` and `cluster` only what changes comes.
pub fn between(from: &[Value], to: &[Value]) -> (Vec<DocumentId>, Vec<Value>) {
    let (old, new) = (by_id(from), by_id(to));
    let gone = old.keys().filter(|id| !new.contains_key(id)).cloned().collect();
    let coming = to.iter().filter_map(|document| {
        let id = DocumentId::of(document);
        match old.get(&id) {
            Some(same) if **same == *document => None,
            Some(old) if id.kind.is_none() => changed(old, document),
            _ => Some(document.clone()),
        }
    });
    (gone, coming.collect())
}

/// The keys of a map whose values are new or others.
fn changed(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return (old != new).then(|| new.clone());
    };
    let mut map = Map::new();
    for (key, value) in new {
        let part = match old.get(key) {
            Some(old) => changed(old, value),
            None => Some(value.clone()),
        };
        map.extend(part.map(|part| (key.clone(), part)));
    }
    (!map.is_empty()).then_some(Value::Object(map))
}
