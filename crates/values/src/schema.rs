//! The schema of a cluster file: JSON Schema for editors and the reference for people.
//!
//! Both are made from the same [`Shape`]s the reader uses, so neither can drift from what the reader accepts.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::read::ScalarForm;

/// The kinds of values at one place of a cluster file.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A scalar.
    Scalar(ScalarForm),
    /// A map with known keys.
    Record {
        /// Name and comment.
        record: &'static RecordShape,
        /// Its keys.
        fields: fn() -> Vec<FieldShape>,
    },
    /// A list.
    List(Box<Shape>),
    /// A list whose items are added to those of lower rungs.
    Sum(Box<Shape>),
    /// A list of exactly so many.
    Exactly(usize, Box<Shape>),
    /// A map with names of the user's choosing.
    Map(Box<Shape>),
    /// Any of these.
    OneOf(Vec<Shape>),
    /// A reference to a secret.
    Secret,
    /// Anything: passed on unchanged.
    Any,
}

/// Name and comment of a record.
#[derive(Debug)]
pub struct RecordShape {
    /// The name of its type.
    pub name: &'static str,
    /// Its purpose.
    pub doc: &'static str,
    /// The expected form, for errors.
    pub want: &'static str,
}

/// A key of a record.
#[derive(Clone, Debug)]
pub struct FieldShape {
    /// The key.
    pub name: &'static str,
    /// Its purpose.
    pub doc: &'static str,
    /// Its default, in words; empty if it has none.
    pub default: &'static str,
    /// An example, as YAML.
    pub example: &'static str,
    /// The shape of its value.
    pub shape: fn() -> Shape,
}

impl Shape {
    /// The expected form, for errors.
    pub fn want(&self) -> String {
        match self {
            Self::Scalar(form) => format!("want {}", form.want),
            other => format!("want {}", other.words()),
        }
    }

    /// Its name for several of it.
    pub(crate) fn plural(&self) -> String {
        match self {
            Self::Scalar(form) if form.name.ends_with('s') => format!("{}es", form.name),
            Self::Scalar(form) => format!("{}s", form.name),
            other => other.words(),
        }
    }

    /// Its name in the reference.
    pub fn words(&self) -> String {
        match self {
            Self::Scalar(form) => form.name.to_owned(),
            Self::Record { record, .. } => record.want.to_owned(),
            Self::List(item) => format!("list of {}", item.words()),
            Self::Sum(item) => format!("list of {} (adds up)", item.words()),
            Self::Exactly(count, item) => format!("list of {count} × {}", item.words()),
            Self::Map(value) => format!("map to {}", value.words()),
            Self::OneOf(shapes) => shapes.iter().map(Self::words).collect::<Vec<_>>().join(" or "),
            Self::Secret => "credential reference".to_owned(),
            Self::Any => "anything".to_owned(),
        }
    }

    /// The default at a key path, or the unknown step and the keys that exist there.
    pub fn default_at<'p>(&self, steps: &[&'p str]) -> Result<&'static str, (&'p str, Vec<&'static str>)> {
        let Some((step, rest)) = steps.split_first() else { return Ok("") };
        match self {
            Self::Record { fields, .. } => {
                let fields = fields();
                match fields.iter().find(|field| field.name == *step) {
                    Some(field) if rest.is_empty() => Ok(field.default),
                    Some(field) => (field.shape)().default_at(rest),
                    None => Err((step, fields.iter().map(|field| field.name).collect())),
                }
            }
            Self::List(inner) | Self::Sum(inner) | Self::Map(inner) | Self::Exactly(_, inner) => {
                inner.default_at(rest)
            }
            Self::OneOf(shapes) => {
                let answers: Vec<_> = shapes.iter().map(|shape| shape.default_at(steps)).collect();
                answers
                    .iter()
                    .find(|answer| answer.is_ok())
                    .or_else(|| answers.last())
                    .cloned()
                    .unwrap_or(Ok(""))
            }
            Self::Any => Ok(""),
            Self::Scalar(_) | Self::Secret => Err((step, Vec::new())),
        }
    }

    fn schema(&self, defs: &mut Map<String, Value>) -> Value {
        match self {
            Self::Scalar(form) => form.schema.clone(),
            Self::Record { record, fields } => {
                if !defs.contains_key(record.name) {
                    defs.insert(record.name.to_owned(), Value::Null);
                    let schema = record_schema(record, &fields(), defs);
                    defs.insert(record.name.to_owned(), schema);
                }
                json!({"$ref": format!("#/$defs/{}", record.name)})
            }
            Self::List(item) => json!({"type": "array", "items": item.schema(defs)}),
            Self::Sum(item) => {
                let list = json!({"type": "array", "items": item.schema(defs)});
                let only = json!({"type": "object", "properties": {"only": list}, "required": ["only"], "additionalProperties": false});
                json!({"anyOf": [list, only]})
            }
            Self::Exactly(count, item) => {
                json!({"type": "array", "items": item.schema(defs), "minItems": count, "maxItems": count})
            }
            Self::Map(value) => {
                let value = nullable(&value.schema(defs));
                json!({"type": "object", "additionalProperties": value})
            }
            Self::OneOf(shapes) => {
                json!({"anyOf": shapes.iter().map(|shape| shape.schema(defs)).collect::<Vec<_>>()})
            }
            Self::Secret => secret_schema(),
            Self::Any => json!(true),
        }
    }
}

fn secret_schema() -> Value {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let text = json!({"type": "string"});
    json!({"anyOf": [
        object(json!({"env": text}), json!(["env"])),
        object(json!({"file": text}), json!(["file"])),
        object(json!({"sops": text, "key": text}), json!(["sops", "key"])),
        object(json!({"command": {"type": "array", "items": text, "minItems": 1}}), json!(["command"])),
    ]})
}

fn nullable(schema: &Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

fn record_schema(record: &RecordShape, fields: &[FieldShape], defs: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let mut schema = nullable(&(field.shape)().schema(defs));
        if let Some(schema) = schema.as_object_mut() {
            let default = if field.default.is_empty() {
                String::new()
            } else {
                format!(" Default: {}.", field.default)
            };
            schema.insert("description".to_owned(), json!(format!("{}{default}", field.doc)));
        }
        properties.insert(field.name.to_owned(), schema);
    }
    json!({"type": "object", "description": record.doc, "properties": properties, "additionalProperties": false})
}

/// The JSON Schema of a file with these keys.
pub fn json_schema(root: &Shape) -> Value {
    let mut defs = Map::new();
    let root = root.schema(&mut defs);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ichor cluster file",
    });
    if let (Some(schema), Some(root)) = (schema.as_object_mut(), root.as_object()) {
        schema.extend(root.clone());
        schema.insert("$defs".to_owned(), Value::Object(defs));
    }
    schema
}

/// Every record below `root`, each once, in the order a reader meets them.
pub fn records(root: &Shape) -> Vec<(&'static RecordShape, Vec<FieldShape>)> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    collect(root, &mut seen, &mut found);
    found
}

fn collect(
    shape: &Shape,
    seen: &mut BTreeSet<&'static str>,
    found: &mut Vec<(&'static RecordShape, Vec<FieldShape>)>,
) {
    match shape {
        Shape::Record { record, fields } => {
            if seen.insert(record.name) {
                let fields = fields();
                found.push((record, fields.clone()));
                for field in &fields {
                    collect(&(field.shape)(), seen, found);
                }
            }
        }
        Shape::List(inner) | Shape::Sum(inner) | Shape::Map(inner) | Shape::Exactly(_, inner) => {
            collect(inner, seen, found);
        }
        Shape::OneOf(shapes) => shapes.iter().for_each(|shape| collect(shape, seen, found)),
        Shape::Scalar(_) | Shape::Secret | Shape::Any => {}
    }
}

/// The tables of the reference: one section per record, one row per key.
pub fn reference(root: &Shape) -> String {
    let mut out = String::new();
    for (record, fields) in records(root) {
        let _ = writeln!(out, "### {}\n\n{}\n", record.name, record.doc);
        let _ = writeln!(out, "| key | type | default | example | what it is |\n|---|---|---|---|---|");
        for field in fields {
            let cell = |text: &str| if text.is_empty() { String::new() } else { text.replace('|', "\\|") };
            let example =
                if field.example.is_empty() { String::new() } else { format!("`{}`", cell(field.example)) };
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {example} | {} |",
                field.name,
                cell(&type_words(&(field.shape)())),
                cell(field.default),
                cell(field.doc),
            );
        }
        out.push('\n');
    }
    out
}

/// The type column: records link to their own table.
fn type_words(shape: &Shape) -> String {
    match shape {
        Shape::Record { record, .. } => format!("[{0}](#{1})", record.name, record.name.to_lowercase()),
        Shape::List(item) => format!("list of {}", type_words(item)),
        Shape::Sum(item) => format!("list of {}, adds up", type_words(item)),
        Shape::Exactly(count, item) => format!("{count} × {}", type_words(item)),
        Shape::Map(value) => format!("map to {}", type_words(value)),
        Shape::OneOf(shapes) => shapes.iter().map(type_words).collect::<Vec<_>>().join(" or "),
        Shape::Scalar(_) | Shape::Secret | Shape::Any => shape.words(),
    }
}
