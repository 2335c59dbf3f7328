//! Writing a configuration as Talos does: every field in its order, and those that are written even when empty.
//!
//! Not here: the text of them ([`emit`]).

use serde_json::{Map, Value};

use ichor_values::TalosVersion;

use super::config::{Config, Document};
use super::go::key_order;
use super::load;
use super::types::{self, FieldType, Scalar, Struct, TypeField, Types};
use ichor_values::go_yaml::emit;

/// The documents as a release writes them: the one with `machine` and `cluster` first.
pub fn encode(config: &Config, talos: &TalosVersion) -> Vec<Value> {
    let encoder = Encoder { types: Types::get(), minor: types::minor(talos) };
    let (machine, others): (Vec<_>, Vec<_>) =
        config.documents.iter().partition(|document| document.kind.is_none());
    machine.into_iter().chain(others).map(|document| encoder.document(document)).collect()
}

struct Encoder {
    types: &'static Types,
    minor: u16,
}

impl Encoder {
    fn document(&self, document: &Document) -> Value {
        let mut map = Map::new();
        for key in ["apiVersion", "kind"] {
            if let Some(word) = document.value.get(key) {
                map.insert(key.to_owned(), word.clone());
            }
        }
        let structure = self.types.structure(self.types.of_document(document.kind));
        let fields = document.value.as_object();
        self.fields(structure, fields.unwrap_or(&Map::new()), &mut map);
        Value::Object(map)
    }

    fn fields(&self, structure: &Struct, from: &Map<String, Value>, to: &mut Map<String, Value>) {
        for field in structure.fields(self.minor) {
            let value = match from.get(field.name) {
                Some(value) if field.keep || !self.leaves_nothing(value, &field.kind) => {
                    self.value(value, &field.kind)
                }
                None if field.keep => self.zero(field),
                _ => continue,
            };
            to.insert(field.name.to_owned(), value);
        }
    }

    /// Whether Go leaves a field out: it counts lists and maps without entries as empty, and structs of nothing else.
    fn leaves_nothing(&self, value: &Value, kind: &FieldType) -> bool {
        match (kind, value) {
            (_, Value::Null) => true,
            (FieldType::List(_), Value::Array(items)) => items.is_empty(),
            (FieldType::Map(_) | FieldType::Arguments, Value::Object(entries)) => entries.is_empty(),
            (FieldType::Struct(place), Value::Object(entries)) => {
                let mut fields = self.types.structure(*place).fields(self.minor);
                let is_empty = |field: &TypeField, value| {
                    load::is_zero(&field.kind, value) || self.leaves_nothing(value, &field.kind)
                };
                fields.all(|field| entries.get(field.name).is_none_or(|value| is_empty(field, value)))
            }
            _ => false,
        }
    }

    fn value(&self, value: &Value, kind: &FieldType) -> Value {
        match (kind, value) {
            (_, Value::Null) => match kind {
                FieldType::List(_) => Value::Array(Vec::new()),
                FieldType::Map(_) | FieldType::Arguments => Value::Object(Map::new()),
                _ => Value::Null,
            },
            (FieldType::Optional(kind), value) => self.value(value, kind),
            (FieldType::Scalar(Scalar::Mode), value) => emit::octal(value.as_u64().unwrap_or_default()),
            (FieldType::Struct(place), Value::Object(from)) => {
                let mut map = Map::new();
                self.fields(self.types.structure(*place), from, &mut map);
                Value::Object(map)
            }
            (FieldType::List(kind), Value::Array(items)) => {
                Value::Array(items.iter().map(|item| self.value(item, kind)).collect())
            }
            (FieldType::Map(kind), Value::Object(entries)) => {
                sort_map(entries, |value| self.value(value, kind))
            }
            (FieldType::Arguments, Value::Object(entries)) => {
                sort_map(entries, |value| if value == "" { Value::Null } else { value.clone() })
            }
            (FieldType::Tree, value) => sort_tree(value),
            (_, value) => value.clone(),
        }
    }

    fn zero(&self, field: &TypeField) -> Value {
        match &field.kind {
            FieldType::Scalar(Scalar::Mode) => emit::octal(0),
            FieldType::Scalar(scalar) => scalar.zero(),
            FieldType::Struct(_) => self.value(&Value::Object(Map::new()), &field.kind),
            FieldType::List(_) => Value::Array(Vec::new()),
            FieldType::Map(_) | FieldType::Tree | FieldType::Arguments => Value::Object(Map::new()),
            FieldType::Optional(_) => Value::Null,
        }
    }
}

/// A map with its keys in Go's order.
fn sort_map(entries: &Map<String, Value>, encode: impl Fn(&Value) -> Value) -> Value {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by(|(one, _), (other, _)| key_order::compare(one, other));
    Value::Object(sorted.into_iter().map(|(key, value)| (key.clone(), encode(value))).collect())
}

/// A value without types, every map of it with its keys in Go's order.
fn sort_tree(value: &Value) -> Value {
    match value {
        Value::Object(entries) => sort_map(entries, sort_tree),
        Value::Array(items) => Value::Array(items.iter().map(sort_tree).collect()),
        word => word.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::load::load;
    use ichor_values::TalosVersion;
    use ichor_values::go_yaml::emit::emit_all;

    use super::*;

    #[test]
    fn an_unknown_protocol_is_written_as_go_prints_it() {
        let talos = TalosVersion::parse("v1.12.4").unwrap();
        let text = "apiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: a\nportSelector: {ports: [80]}\ningress: []\n";

        let values = encode(&load(text, &talos).unwrap(), &talos);

        assert_eq!(values[0]["portSelector"]["protocol"], "Protocol(0)");
    }

    #[test]
    fn a_struct_of_an_empty_map_is_left_out() {
        let talos = TalosVersion::parse("1.13").unwrap();

        let written =
            emit_all(&encode(&load("machine: {registries: {mirrors: {}}}\n", &talos).unwrap(), &talos));

        assert!(!written.contains("registries"), "{written}");
    }

    #[test]
    fn keys_of_maps_are_written_in_the_order_of_go() {
        let talos = TalosVersion::parse("1.13").unwrap();
        let text = "machine:\n  sysctls: {b: x, a10: x, a9: x}\n  kubelet: {extraArgs: {v: x, a: x}, extraConfig: {z: [{d: 1, c: 1}], x: 1}}\n";

        let written = emit_all(&encode(&load(text, &talos).unwrap(), &talos));

        let place = |word: &str| written.find(word).unwrap_or_else(|| panic!("{word} in {written}"));
        for (first, second) in [("a9:", "a10:"), ("a10:", "b:"), (" a:", " v:"), ("x:", "z:"), ("c:", "d:")] {
            assert!(place(first) < place(second), "{first} {second} {written}");
        }
    }

    #[test]
    fn modes_of_files_are_written_in_octal() {
        let talos = TalosVersion::parse("1.12").unwrap();
        let text = "machine: {files: [{content: a, permissions: 0644, path: /var/a, op: create}]}";
        let config = load(text, &talos).unwrap();

        let written = emit_all(&encode(&config, &talos));

        assert!(written.contains("permissions: 0o644\n"), "{written}");
        assert_eq!(
            load(&written, &talos).unwrap().documents[0].value["machine"]["files"],
            config.documents[0].value["machine"]["files"]
        );
    }
}
