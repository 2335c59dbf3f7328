//! JSON patches (RFC 6902), as the library Talos uses applies them.
//!
//! Not here: when a text is taken for one ([`Patch::read`](super::Patch::read)).

use serde_json::Value;

use crate::document;

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    name: String,
    path: String,
    from: Option<String>,
    value: Option<Value>,
}

/// Reads a patch that is a list of operations, in JSON or YAML. No operation at all is a patch too.
pub fn read(text: &str) -> Result<Vec<Operation>, String> {
    let mut documents = document::read(text).map_err(|error| error.to_string())?;
    match documents.len() {
        0 => Ok(Vec::new()),
        1 => from_value(documents.remove(0)),
        _ => Err("several documents, where a list of operations is wanted".to_owned()),
    }
}

/// The operations of a list.
pub fn from_value(list: Value) -> Result<Vec<Operation>, String> {
    let Value::Array(list) = list else {
        return Err("neither documents to merge nor a list of operations".to_owned());
    };
    list.into_iter()
        .enumerate()
        .map(|(nth, operation)| read_one(operation).map_err(|why| format!("operation {}: {why}", nth + 1)))
        .collect()
}

fn read_one(operation: Value) -> Result<Operation, String> {
    let Value::Object(mut fields) = operation else { return Err("not a map".to_owned()) };
    let mut word = |key| match fields.remove(key) {
        Some(Value::String(word)) => Some(word),
        _ => None,
    };
    let name = word("op").ok_or("no `op`")?;
    let path = word("path").ok_or("no `path`")?;
    let from = word("from");
    Ok(Operation { name, path, from, value: fields.remove("value") })
}

/// Applies operations to a document, one after the other.
pub fn apply(operations: &[Operation], document: &mut Value) -> Result<(), String> {
    for operation in operations {
        operation
            .apply(document)
            .map_err(|why| format!("`{}` of `{}`: {why}", operation.name, operation.path))?;
    }
    Ok(())
}

impl Operation {
    fn apply(&self, document: &mut Value) -> Result<(), String> {
        let value = || self.value.clone().unwrap_or(Value::Null);
        let from = || self.from.as_deref().ok_or_else(|| "no `from`".to_owned());
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
            _ => Err("no such operation: `add`, `remove`, `replace`, `move`, `copy` or `test`".to_owned()),
        }
    }
}

/// The path of the map or list that holds what a path leads to, and the last step. The library looks at no more than what
/// stands between slashes, whatever is before the first.
fn split(path: &str) -> Result<(String, String), String> {
    let (_, below) = path.split_once('/').ok_or("not a path: it starts with `/`")?;
    let (above, last) = below.rsplit_once('/').map_or(("", below), |(above, last)| (above, last));
    let above = if above.is_empty() { String::new() } else { format!("/{above}") };
    Ok((above, last.replace("~1", "/").replace("~0", "~")))
}

fn holder<'v>(document: &'v mut Value, path: &str) -> Result<(&'v mut Value, String), String> {
    let (above, last) = split(path)?;
    let holder = document.pointer_mut(&above).ok_or_else(|| format!("there is no `{above}`"))?;
    Ok((holder, last))
}

/// What a path leads to: none where a map lacks the key, an error where what should hold it is missing.
fn get<'v>(document: &'v Value, path: &str) -> Result<Option<&'v Value>, String> {
    if path.is_empty() {
        return Ok(Some(document));
    }
    let (above, last) = split(path)?;
    match document.pointer(&above) {
        Some(Value::Object(map)) => Ok(map.get(&last)),
        Some(Value::Array(list)) => Ok(list.get(place(&last, list.len())?)),
        _ => Err(format!("there is no `{above}`")),
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
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
        _ => Err("its parent is neither a map nor a list".to_owned()),
    }
}

fn remove(document: &mut Value, path: &str) -> Result<Value, String> {
    match holder(document, path)? {
        // `shift_remove` keeps the order of the others.
        (Value::Object(map), key) => {
            map.shift_remove(&key).ok_or_else(|| "there is nothing to remove".to_owned())
        }
        (Value::Array(list), step) => {
            let place = place(&step, list.len())?;
            Ok(list.remove(place))
        }
        _ => Err("its parent is neither a map nor a list".to_owned()),
    }
}

fn replace(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        *document = value;
        return Ok(());
    }
    match holder(document, path)? {
        // A key that is not there is replaced all the same.
        (Value::Object(map), key) => {
            map.insert(key, value);
        }
        (Value::Array(list), step) => {
            let place = place(&step, list.len())?;
            list[place] = value;
        }
        _ => return Err("its parent is neither a map nor a list".to_owned()),
    }
    Ok(())
}

fn test(document: &Value, path: &str, want: &Value) -> Result<(), String> {
    match get(document, path)? {
        Some(found) if same(found, want) => Ok(()),
        None if want.is_null() => Ok(()),
        Some(_) => Err("the value there is another one".to_owned()),
        None => Err("there is nothing to test".to_owned()),
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
fn place(step: &str, length: usize) -> Result<usize, String> {
    let number: i64 = step.parse().map_err(|_| format!("`{step}` is no place in a list"))?;
    let place = if number < 0 { i64::try_from(length).unwrap_or(i64::MAX) + number } else { number };
    usize::try_from(place)
        .ok()
        .filter(|place| *place < length)
        .ok_or_else(|| format!("the list has no place {step}"))
}
