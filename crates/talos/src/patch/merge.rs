//! Strategic merges: a document into another of the same kind and name, field by field as Talos' types say.
//!
//! If Talos would silently drop a value that the patch does not set, or crash, there is an error instead.

use serde_json::{Map, Value};

use crate::config::Document;
use crate::go::url;
use crate::load::is_zero;
use crate::types;
use crate::types::scalar::{Form, Scalar};
use crate::types::{FieldType, Struct, TypeField, Types};
use ichor_values::TalosVersion;

/// Why Talos would not merge a document, or would lose a value of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// Talos 1.13 fails on these documents.
    #[error(
        "Talos 1.13 cannot merge two documents RoutingRuleConfig: delete the old one, and write a new one"
    )]
    RoutingRule,
    /// A value would be dropped.
    #[error(
        "{path}: the patch {how}, and Talos would silently drop the existing value: repeat it in the patch, or \
         delete it with `$patch: delete`"
    )]
    Lost {
        /// The keys that lead to it.
        path: String,
        /// The effect of the patch on it.
        how: &'static str,
    },
    /// Both URLs have a user.
    #[error("{path}: Talos cannot merge two URLs with a user: delete the old one first")]
    User {
        /// The keys that lead to it.
        path: String,
    },
    /// A value would change its type.
    #[error(
        "{path}: the patch has another type of value here, and Talos refuses that: delete the old one first"
    )]
    OtherType {
        /// The keys that lead to it.
        path: String,
    },
}

/// Merges `right` into `left`.
pub(crate) fn merge(left: &mut Document, right: &Document, talos: &TalosVersion) -> Result<(), MergeError> {
    let types = Types::get();
    let structure = types.structure(types.of_document(left.kind));
    if types::minor(talos) == 13 && left.kind.is_some_and(|kind| kind.name == "RoutingRuleConfig") {
        return Err(MergeError::RoutingRule);
    }
    let mut merger = Merger { types, minor: types::minor(talos), path: Vec::new() };
    let (Value::Object(left), Value::Object(right)) = (&mut left.value, &right.value) else { return Ok(()) };
    merger.fields(left, right, structure)
}

struct Merger {
    types: &'static Types,
    minor: u16,
    path: Vec<String>,
}

impl Merger {
    fn fields(
        &mut self,
        left: &mut Map<String, Value>,
        right: &Map<String, Value>,
        structure: &Struct,
    ) -> Result<(), MergeError> {
        for field in structure.fields(self.minor) {
            self.path.push(field.name.to_owned());
            self.field(left, right.get(field.name), field)?;
            self.path.pop();
        }
        Ok(())
    }

    fn field(
        &mut self,
        left: &mut Map<String, Value>,
        right: Option<&Value>,
        field: &TypeField,
    ) -> Result<(), MergeError> {
        let Some(right) = right else { return self.without(left, field) };
        match left.get_mut(field.name).filter(|old| !old.is_null()) {
            Some(old) => self.value(old, right, &field.kind, field),
            // Items with the same key are merged, even in a new list.
            None if !field.by.is_empty() => {
                let old = left.entry(field.name).or_insert(Value::Null);
                *old = Value::Array(Vec::new());
                self.value(old, right, &field.kind, field)
            }
            None => {
                left.insert(field.name.to_owned(), right.clone());
                Ok(())
            }
        }
    }

    /// The patch does not have the field. Talos still visits structs that are not optional, and loses values for which empty and
    /// missing are the same.
    fn without(&mut self, left: &mut Map<String, Value>, field: &TypeField) -> Result<(), MergeError> {
        let Some(old) = left.get_mut(field.name) else { return Ok(()) };
        match &field.kind {
            FieldType::Scalar(Scalar::Form(Form::Expression | Form::Bytes)) => {
                Err(self.lost_value("leaves it out"))
            }
            FieldType::Scalar(Scalar::Bool) => {
                left.remove(field.name);
                Ok(())
            }
            FieldType::Struct(place) => match old {
                Value::Object(old) => self.fields(old, &Map::new(), self.types.structure(*place)),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn value(
        &mut self,
        left: &mut Value,
        right: &Value,
        kind: &FieldType,
        field: &TypeField,
    ) -> Result<(), MergeError> {
        match kind {
            FieldType::Optional(kind) => match &**kind {
                FieldType::Scalar(scalar) if *scalar != Scalar::Form(Form::Url) => {
                    // Talos 1.11 takes a zero for nothing here too.
                    if self.minor >= 12 || *scalar == Scalar::Bool || !scalar.is_zero(right) {
                        *left = right.clone();
                    }
                    Ok(())
                }
                kind => self.value(left, right, kind, field),
            },
            FieldType::Scalar(scalar) => self.scalar(left, right, *scalar),
            FieldType::Struct(place) => match (left, right) {
                (Value::Object(left), Value::Object(right)) => {
                    self.fields(left, right, self.types.structure(*place))
                }
                _ => Ok(()),
            },
            FieldType::List(kind) => self.list(left, right, kind, field),
            FieldType::Map(_) | FieldType::Tree | FieldType::Arguments if field.replace => {
                *left = right.clone();
                Ok(())
            }
            FieldType::Map(kind) => self.map(left, right, kind, field),
            FieldType::Tree => self.tree(left, right),
            FieldType::Arguments => {
                if let (Value::Object(left), Value::Object(right)) = (left, right) {
                    left.extend(right.clone());
                }
                Ok(())
            }
        }
    }

    fn scalar(&self, left: &mut Value, right: &Value, scalar: Scalar) -> Result<(), MergeError> {
        let is_bytes = matches!(scalar, Scalar::Form(Form::Base64 | Form::Base64Key));
        if scalar != Scalar::Bool && scalar.is_zero(right) && !is_bytes {
            return Ok(());
        }
        match (scalar, left.as_str(), right.as_str()) {
            (Scalar::Form(Form::Url), Some(old), Some(new)) if url::has_user(old) && url::has_user(new) => {
                return Err(MergeError::User { path: self.key_path() });
            }
            (Scalar::Form(Form::Url), Some(old), Some(new)) => *left = Value::from(url::merge(old, new)),
            (Scalar::Form(Form::Size), Some(old), Some(new)) if !old.contains('%') && new.contains('%') => {
                return Err(self.lost_value("replaces bytes by a percentage"));
            }
            _ => *left = right.clone(),
        }
        Ok(())
    }

    fn list(
        &mut self,
        left: &mut Value,
        right: &Value,
        kind: &FieldType,
        field: &TypeField,
    ) -> Result<(), MergeError> {
        let (Value::Array(old), Value::Array(new)) = (&mut *left, right) else { return Ok(()) };
        if field.by.is_empty() {
            if field.replace {
                old.clone_from(new);
            } else {
                old.extend(new.iter().cloned());
            }
            return Ok(());
        }
        // Items that are replaced are found among those of before, the last one first.
        let before = old.len();
        for item in new {
            let place = if field.replace {
                old[..before].iter().rposition(|old| same(old, item, &field.by))
            } else {
                old.iter().position(|old| same(old, item, &field.by))
            };
            match place {
                Some(place) if field.replace => old[place] = item.clone(),
                Some(place) => {
                    self.path.push(format!("[{place}]"));
                    self.value(&mut old[place], item, kind, field)?;
                    self.path.pop();
                }
                None => old.push(item.clone()),
            }
        }
        Ok(())
    }

    fn map(
        &mut self,
        left: &mut Value,
        right: &Value,
        kind: &FieldType,
        field: &TypeField,
    ) -> Result<(), MergeError> {
        let (Value::Object(left), Value::Object(right)) = (left, right) else { return Ok(()) };
        for (key, new) in right {
            match left.get_mut(key).filter(|old| !old.is_null()) {
                None => {
                    left.insert(key.clone(), new.clone());
                }
                Some(_) if new.is_null() => {}
                Some(old) => {
                    self.path.push(key.clone());
                    self.value(old, new, kind, field)?;
                    self.path.pop();
                }
            }
        }
        Ok(())
    }

    /// A map without types: every value must keep its type.
    fn tree(&mut self, left: &mut Value, right: &Value) -> Result<(), MergeError> {
        match (left, right) {
            (Value::Object(left), Value::Object(right)) => {
                for (key, new) in right {
                    match left.get_mut(key).filter(|old| !old.is_null()) {
                        None => {
                            left.insert(key.clone(), new.clone());
                        }
                        Some(old) => {
                            self.path.push(key.clone());
                            self.tree(old, new)?;
                            self.path.pop();
                        }
                    }
                }
            }
            (Value::Array(left), Value::Array(right)) => left.extend(right.iter().cloned()),
            (left, right) if !same_type(left, right) => {
                return Err(MergeError::OtherType { path: self.key_path() });
            }
            (left, right) => {
                if right.is_boolean() || !is_zero(&FieldType::Scalar(Scalar::Text), right) {
                    *left = right.clone();
                }
            }
        }
        Ok(())
    }

    fn lost_value(&self, how: &'static str) -> MergeError {
        MergeError::Lost { path: self.key_path(), how }
    }

    fn key_path(&self) -> String {
        self.path.join(".").replace(".[", "[")
    }
}

/// Whether two items of a list have the same first key that is set.
fn same(old: &Value, new: &Value, keys: &[&str]) -> bool {
    let last = keys.len() - 1;
    for (nth, key) in keys.iter().enumerate() {
        match (new.get(key), old.get(key)) {
            (Some(new), old) => return old == Some(new) && new.get("physical").is_none(),
            // Of one key alone, none is a value like any other.
            (None, None) if nth == last && keys.len() == 1 => return true,
            (None, _) => {}
        }
    }
    false
}

fn same_type(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.is_f64() == right.is_f64(),
        _ => std::mem::discriminant(left) == std::mem::discriminant(right),
    }
}
