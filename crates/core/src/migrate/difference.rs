//! Differences between two configurations, by document.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use ichor_talos::document;

/// The identity of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentId {
    /// Its kind; none for the document with `machine` and `cluster`.
    pub kind: Option<String>,
    /// Its name, if its kind has one.
    pub name: Option<String>,
}

impl DocumentId {
    /// The identity of a document.
    pub fn from_document(value: &Value) -> Self {
        let text = |text: Option<&str>| text.map(ToOwned::to_owned);
        Self { kind: text(document::kind(value)), name: text(document::name(value)) }
    }

    /// The patch that deletes the document.
    pub(crate) fn deletion(&self) -> Value {
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

/// Documents by their identity.
pub(crate) fn by_id(documents: &[Value]) -> BTreeMap<DocumentId, &Value> {
    documents.iter().map(|document| (DocumentId::from_document(document), document)).collect()
}

/// The documents to remove, and those to add or change. Of the document with `machine` and `cluster` only the changes.
pub(crate) fn compare(from: &[Value], to: &[Value]) -> (Vec<DocumentId>, Vec<Value>) {
    let (old, new) = (by_id(from), by_id(to));
    let removed = old.keys().filter(|id| !new.contains_key(id)).cloned().collect();
    let added = to.iter().filter_map(|document| {
        let id = DocumentId::from_document(document);
        match old.get(&id) {
            Some(same) if **same == *document => None,
            Some(old) if id.kind.is_none() => value_changes(old, document),
            _ => Some(document.clone()),
        }
    });
    (removed, added.collect())
}

/// The patch of a value: new or changed keys and items, and deletions.
fn value_changes(old: &Value, new: &Value) -> Option<Value> {
    let part = match (old, new) {
        (Value::Object(old), Value::Object(new)) => Value::Object(key_changes(old, new)),
        (Value::Array(old), Value::Array(new)) => Value::Array(item_changes(old, new)),
        _ => return (old != new).then(|| new.clone()),
    };
    let empty = part.as_object().is_some_and(Map::is_empty) || part.as_array().is_some_and(Vec::is_empty);
    (!empty).then_some(part)
}

fn key_changes(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let mut map = Map::new();
    for (key, value) in new {
        let part = match old.get(key) {
            Some(old) => value_changes(old, value),
            None => Some(value.clone()),
        };
        map.extend(part.map(|part| (key.clone(), part)));
    }
    let removed = old.keys().filter(|key| !new.contains_key(*key));
    map.extend(removed.map(|key| (key.clone(), json!({"$patch": "delete"}))));
    map
}

/// Talos appends items to a list, and identifies an item to delete by its first key.
fn item_changes(old: &[Value], new: &[Value]) -> Vec<Value> {
    let removed = old.iter().filter(|item| !new.contains(item)).filter_map(|item| {
        let (key, value) = item.as_object()?.iter().next()?;
        Some(json!({key: value, "$patch": "delete"}))
    });
    removed.chain(new.iter().filter(|item| !old.contains(item)).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_keys_are_deleted_and_unchanged_ones_omitted() {
        let old = json!({"machine": {"kernel": {"modules": [{"name": "vrf"}]}, "sysctls": {"a": "1", "b": "2"}, "type": "worker"}});
        let new = json!({"machine": {"sysctls": {"a": "1", "b": "3"}, "type": "worker"}});

        let old = [old];
        let (_, added) = compare(&old, &[new]);
        let (_, nothing) = compare(&old, &old);

        let expected = json!({"machine": {"sysctls": {"b": "3"}, "kernel": {"$patch": "delete"}}});
        assert_eq!((added, nothing), (vec![expected], Vec::new()));
    }

    #[test]
    fn list_items_are_added_and_deleted_individually() {
        let list = |names: &[&str]| json!({"modules": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()});

        let (_, added) = compare(&[list(&["vrf", "dummy"])], &[list(&["dummy", "veth"])]);

        assert_eq!(added, [json!({"modules": [{"name": "vrf", "$patch": "delete"}, {"name": "veth"}]})]);
    }
}
