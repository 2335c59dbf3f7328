//! What differs between two configurations, document by document.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use ichor_talos::document;

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

/// Documents by what they are known by.
pub(crate) fn by_id(documents: &[Value]) -> BTreeMap<DocumentId, &Value> {
    documents.iter().map(|document| (DocumentId::of(document), document)).collect()
}

/// The documents that go, and those that come or change. Of the one with `machine` and `cluster` only what changes comes.
pub(crate) fn between(from: &[Value], to: &[Value]) -> (Vec<DocumentId>, Vec<Value>) {
    let (old, new) = (by_id(from), by_id(to));
    let gone = old.keys().filter(|id| !new.contains_key(id)).cloned().collect();
    let coming = to.iter().filter_map(|document| {
        let id = DocumentId::of(document);
        match old.get(&id) {
            Some(same) if **same == *document => None,
            Some(old) if id.kind.is_none() => value_changes(old, document),
            _ => Some(document.clone()),
        }
    });
    (gone, coming.collect())
}

/// What a patch must say of a value: keys and items that are new or others, and the deletion of those that go.
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
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    map.extend(gone.map(|key| (key.clone(), json!({"$patch": "delete"}))));
    map
}

/// Talos adds items to those there are, and knows one that goes by its first key.
fn item_changes(old: &[Value], new: &[Value]) -> Vec<Value> {
    let gone = old.iter().filter(|item| !new.contains(item)).filter_map(|item| {
        let (key, value) = item.as_object()?.iter().next()?;
        Some(json!({key: value, "$patch": "delete"}))
    });
    gone.chain(new.iter().filter(|item| !old.contains(item)).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_is_deleted_and_what_stays_is_not_said() {
        let old = json!({"machine": {"kernel": {"modules": [{"name": "vrf"}]}, "sysctls": {"a": "1", "b": "2"}, "type": "worker"}});
        let new = json!({"machine": {"sysctls": {"a": "1", "b": "3"}, "type": "worker"}});

        let old = [old];
        let (_, coming) = between(&old, &[new]);
        let (_, nothing) = between(&old, &old);

        let expected = json!({"machine": {"sysctls": {"b": "3"}, "kernel": {"$patch": "delete"}}});
        assert_eq!((coming, nothing), (vec![expected], Vec::new()));
    }

    #[test]
    fn items_of_lists_go_and_come_one_by_one() {
        let list = |names: &[&str]| json!({"modules": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()});

        let (_, coming) = between(&[list(&["vrf", "dummy"])], &[list(&["dummy", "veth"])]);

        assert_eq!(coming, [json!({"modules": [{"name": "vrf", "$patch": "delete"}, {"name": "veth"}]})]);
    }
}
