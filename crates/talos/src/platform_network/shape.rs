//! The form in which Talos prints a network configuration: the fields of a release, their order, and omitted ones.

use serde_json::{Map, Value, json};

use super::field::{Of, RecordField};
use crate::release;
use ichor_values::TalosVersion;

/// The output format of a release.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReleaseFormat<'t> {
    pub talos: &'t TalosVersion,
}

impl ReleaseFormat<'_> {
    pub(super) fn at_least(self, minor: u16) -> bool {
        release::at_least(self.talos, minor)
    }

    pub(super) fn has(self, field: &RecordField) -> bool {
        self.at_least(field.since)
    }

    /// A record with nothing written in it.
    pub(super) fn empty(self, fields: &[RecordField]) -> Map<String, Value> {
        self.fill(&Map::new(), fields)
    }

    /// A record with these values, which are printed already.
    pub(super) fn fill(self, given: &Map<String, Value>, fields: &[RecordField]) -> Map<String, Value> {
        let mut record = Map::new();
        for field in fields.iter().filter(|field| self.has(field)) {
            self.insert_field(
                &mut record,
                field,
                given.get(field.name).map(|value| self.shape(value, field.of)),
            );
        }
        record
    }

    fn shape(self, value: &Value, of: Of) -> Value {
        match (of, value) {
            (Of::Record(fields), Value::Object(given)) => Value::Object(self.fill(given, fields)),
            (Of::List(of), Value::Array(items)) => items.iter().map(|item| self.shape(item, *of)).collect(),
            (Of::Pointer(of), value) => self.shape(value, *of),
            (_, value) => value.clone(),
        }
    }

    /// Adds a field to its record, unless it is empty and omitted then.
    pub(super) fn insert_field(
        self,
        record: &mut Map<String, Value>,
        field: &RecordField,
        value: Option<Value>,
    ) {
        let given = value.is_some();
        let value = value.unwrap_or_else(|| self.zero(field.of));
        let keep = match field.of {
            _ if !field.omit => true,
            Of::Pointer(_) => given,
            of => !self.is_zero(of, &value),
        };
        if keep {
            record.insert(field.name.to_owned(), value);
        }
    }

    fn zero(self, of: Of) -> Value {
        match of {
            Of::Text | Of::Address | Of::Prefix | Of::Mac | Of::Flags(..) => json!(""),
            Of::Flag => json!(false),
            Of::Number(..) => json!(0),
            Of::Duration => json!("0s"),
            Of::Word(set) => json!(set.zero()),
            // Before 1.12 it had a name and was printed without it.
            Of::FailOverMac => {
                if self.at_least(12) {
                    json!("none")
                } else {
                    json!(0)
                }
            }
            Of::Table => json!("unspec"),
            Of::Record(fields) => Value::Object(self.empty(fields)),
            Of::List(_) => json!([]),
            Of::Texts => json!({}),
            Of::Pointer(_) => Value::Null,
        }
    }

    /// Whether Go's YAML takes it for empty. It cannot inspect addresses and takes all of them for empty.
    fn is_zero(self, of: Of, value: &Value) -> bool {
        match of {
            Of::Record(fields) => fields.iter().filter(|field| self.has(field)).all(|field| {
                let inner = value.get(field.name);
                matches!(field.of, Of::Address | Of::Prefix)
                    || inner.is_none_or(|inner| match field.of {
                        Of::Pointer(_) => false,
                        of => self.is_zero(of, inner),
                    })
            }),
            of => *value == self.zero(of),
        }
    }
}
