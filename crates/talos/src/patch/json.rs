//! JSON patches (RFC 6902), as the library Talos uses applies them.
//!
//! Not here: when a text is taken for one ([`Patch::read`](super::Patch::read)).

use serde_json::Value;

use super::json_value::{self, GoYaml};
use crate::types::scalar::ScalarError;
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::SyntaxError;

/// Why a JSON patch could not be read or applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonPatchError {
    /// It is neither JSON nor YAML.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// It is more than one document.
    #[error("several documents, where a list of operations is wanted")]
    Documents,
    /// It is not a list.
    #[error("neither documents to merge nor a list of operations")]
    NoList,
    /// An item of the list is not an operation.
    #[error("operation {nth}: {reason}")]
    Form {
        /// Which, counted from 1.
        nth: usize,
        /// The problem.
        reason: FormError,
    },
    /// An operation cannot be done.
    #[error("`{name}` of `{path}`: {reason}")]
    Operation {
        /// The name of the operation.
        name: String,
        /// The path.
        path: String,
        /// The problem.
        reason: OperationError,
    },
}

/// Why a value is not an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// It is not a map.
    #[error("not a map")]
    NoMap,
    /// A key is missing.
    #[error("no `{0}`")]
    Missing(&'static str),
}

/// Why an operation cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// It has no name that RFC 6902 knows.
    #[error("no such operation: `add`, `remove`, `replace`, `move`, `copy` or `test`")]
    Unknown,
    /// It needs a source and has none.
    #[error("no `from`")]
    NoFrom,
    /// Its path has no slash.
    #[error("not a path: it starts with `/`")]
    NoPath,
    /// The parent is missing.
    #[error("there is no `{path}`")]
    NoParent {
        /// Its path.
        path: String,
    },
    /// The parent is a scalar.
    #[error("its parent is neither a map nor a list")]
    Parent,
    /// The path does not exist.
    #[error("there is nothing to remove")]
    NothingToRemove,
    /// The path does not exist.
    #[error("there is nothing to test")]
    NothingToTest,
    /// The value is not the tested one.
    #[error("the current value differs")]
    OtherValue,
    /// A step into a list is not a number.
    #[error("`{step}` is not a list index")]
    NoIndex {
        /// The step.
        step: String,
    },
    /// A step into a list leads beyond its end.
    #[error("the list has no place {step}")]
    BeyondList {
        /// The step.
        step: String,
    },
}

/// An operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operation {
    name: String,
    path: String,
    from: Option<String>,
    value: Option<Value>,
}

/// Reads a patch that is a list of operations, in JSON or YAML. An empty list is a patch as well.
pub fn read(text: &str) -> Result<Vec<Operation>, JsonPatchError> {
    let documents = yaml::parse(text)?;
    let documents: Vec<_> = documents.iter().filter(|document| !document.is_null()).collect();
    match documents[..] {
        [] => Ok(Vec::new()),
        [document] => {
            let describe =
                |error: ScalarError| SyntaxError { line: document.line, reason: error.to_string() };
            from_value(json_value::read(document, GoYaml::V4).map_err(describe)?)
        }
        _ => Err(JsonPatchError::Documents),
    }
}

/// The operations of a list.
pub(crate) fn from_value(list: Value) -> Result<Vec<Operation>, JsonPatchError> {
    let Value::Array(list) = list else {
        return Err(JsonPatchError::NoList);
    };
    list.into_iter()
        .enumerate()
        .map(|(nth, operation)| {
            read_one(operation).map_err(|reason| JsonPatchError::Form { nth: nth + 1, reason })
        })
        .collect()
}

fn read_one(operation: Value) -> Result<Operation, FormError> {
    let Value::Object(mut fields) = operation else { return Err(FormError::NoMap) };
    let mut word = |key| match fields.remove(key) {
        Some(Value::String(word)) => Some(word),
        _ => None,
    };
    let name = word("op").ok_or(FormError::Missing("op"))?;
    let path = word("path").ok_or(FormError::Missing("path"))?;
    let from = word("from");
    Ok(Operation { name, path, from, value: fields.remove("value") })
}

/// Applies operations to a document in sequence.
pub(crate) fn apply(operations: &[Operation], document: &mut Value) -> Result<(), JsonPatchError> {
    for operation in operations {
        operation.apply(document).map_err(|reason| JsonPatchError::Operation {
            name: operation.name.clone(),
            path: operation.path.clone(),
            reason,
        })?;
    }
    Ok(())
}

impl Operation {
    fn apply(&self, document: &mut Value) -> Result<(), OperationError> {
        let value = || self.value.clone().unwrap_or(Value::Null);
        let from = || self.from.as_deref().ok_or(OperationError::NoFrom);
        match self.name.as_str() {
            "add" => add(document, &self.path, value()),
            "remove" => remove(document, &self.path).map(|_| ()),
            "replace" => replace(document, &self.path, value()),
            "move" => {
                let value = remove(document, from()?)?;
                add(document, &self.path, value)
            }
            "copy" => {
                let value = get(document, from()?)?.cloned().unwrap_or(Value::Null);
                add(document, &self.path, value)
            }
            "test" => test(document, &self.path, &value()),
            _ => Err(OperationError::Unknown),
        }
    }
}

/// The path of the parent, and the last step. The library only looks at the text between slashes, and ignores the text
/// before the first one.
fn split(path: &str) -> Result<(String, String), OperationError> {
    let (_, below) = path.split_once('/').ok_or(OperationError::NoPath)?;
    let (above, last) = below.rsplit_once('/').map_or(("", below), |(above, last)| (above, last));
    let above = if above.is_empty() { String::new() } else { format!("/{above}") };
    Ok((above, last.replace("~1", "/").replace("~0", "~")))
}

fn holder<'v>(document: &'v mut Value, path: &str) -> Result<(&'v mut Value, String), OperationError> {
    let (above, last) = split(path)?;
    match document.pointer_mut(&above) {
        Some(holder) => Ok((holder, last)),
        None => Err(OperationError::NoParent { path: above }),
    }
}

/// The value at a path: none if a map lacks the key, an error if its parent is missing.
fn get<'v>(document: &'v Value, path: &str) -> Result<Option<&'v Value>, OperationError> {
    if path.is_empty() {
        return Ok(Some(document));
    }
    let (above, last) = split(path)?;
    match document.pointer(&above) {
        Some(Value::Object(map)) => Ok(map.get(&last)),
        Some(Value::Array(list)) => Ok(list.get(place(&last, list.len())?)),
        _ => Err(OperationError::NoParent { path: above }),
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), OperationError> {
    match holder(document, path)? {
        (Value::Object(map), key) => {
            map.insert(key, value);
            Ok(())
        }
        (Value::Array(list), step) if step == "-" => {
            list.push(value);
            Ok(())
        }
        (Value::Array(list), step) => {
            let place = place(&step, list.len() + 1)?;
            list.insert(place, value);
            Ok(())
        }
        _ => Err(OperationError::Parent),
    }
}

fn remove(document: &mut Value, path: &str) -> Result<Value, OperationError> {
    match holder(document, path)? {
        // `shift_remove` keeps the order of the others.
        (Value::Object(map), key) => map.shift_remove(&key).ok_or(OperationError::NothingToRemove),
        (Value::Array(list), step) => {
            let place = place(&step, list.len())?;
            Ok(list.remove(place))
        }
        _ => Err(OperationError::Parent),
    }
}

fn replace(document: &mut Value, path: &str, value: Value) -> Result<(), OperationError> {
    if path.is_empty() {
        *document = value;
        return Ok(());
    }
    match holder(document, path)? {
        // A missing key is replaced as well.
        (Value::Object(map), key) => {
            map.insert(key, value);
        }
        (Value::Array(list), step) => {
            let place = place(&step, list.len())?;
            list[place] = value;
        }
        _ => return Err(OperationError::Parent),
    }
    Ok(())
}

fn test(document: &Value, path: &str, want: &Value) -> Result<(), OperationError> {
    match get(document, path)? {
        Some(found) if same(found, want) => Ok(()),
        None if want.is_null() => Ok(()),
        Some(_) => Err(OperationError::OtherValue),
        None => Err(OperationError::NothingToTest),
    }
}

/// Equal, whatever the order of keys and the form of numbers.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

/// A place in a list of `length`; negative ones count from its end.
fn place(step: &str, length: usize) -> Result<usize, OperationError> {
    let number: i64 = step.parse().map_err(|_| OperationError::NoIndex { step: step.to_owned() })?;
    let place = if number < 0 { i64::try_from(length).unwrap_or(i64::MAX) + number } else { number };
    usize::try_from(place)
        .ok()
        .filter(|place| *place < length)
        .ok_or_else(|| OperationError::BeyondList { step: step.to_owned() })
}
