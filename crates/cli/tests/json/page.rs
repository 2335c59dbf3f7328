//! `docs/json.md`: a section for each schema, with its example and a table of its keys.

use std::fmt::Write as _;
use std::fs;

use crate::common::root;
use ichor_testbed::{assert_same, schema};
use serde_json::Value;

/// The sections of the page and their schemas, in order.
const SECTIONS: &[(&str, &[&str])] = &[
    (
        "Cluster files and plans",
        &[
            "check",
            "explain",
            "show",
            "show-nodes",
            "show-bgp",
            "show-boot",
            "show-vms",
            "show-cilium",
            "show-why",
            "show-backends",
            "prove",
            "prove-to",
            "migrate",
        ],
    ),
    ("Running clusters", &["status", "verify", "diff", "logs", "discover", "machine-ls"]),
    ("Events", &["up-events", "upgrade-events", "reset-events", "down-events"]),
    ("Talos configurations and secrets", &["talos-validate", "secrets-check", "meta-decode"]),
    (
        "Media, images and extensions",
        &[
            "media-inspect",
            "image-build",
            "image-plan",
            "schematic-url",
            "schematic-fetch",
            "extension-build",
            "extension-check",
            "extension-push",
        ],
    ),
    ("Labs", &["lab-up", "lab-ls", "lab-status", "lab-test", "lab-nodes-status"]),
    ("Files", &["manifest", "images", "up-record"]),
    ("Agent", &["agent-config", "agent-status", "agent-render"]),
];

/// Longest line of an example.
const MAX_WIDTH: usize = 100;

#[test]
fn the_page_has_every_schema() {
    let mut listed: Vec<&str> = SECTIONS.iter().flat_map(|(_, schemas)| *schemas).copied().collect();
    listed.sort_unstable();
    assert_eq!(listed, schema::names());

    let mut page = String::new();
    for (title, schemas) in SECTIONS {
        page += &format!("\n## {title}\n");
        schemas.iter().for_each(|name| page += &section(name));
    }

    let path = root().join("docs/json.md");
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- documents: begin -->\n", "<!-- documents: end -->");
    let (before, rest) = text.split_once(begin).expect("the page has a mark");
    let (_, after) = rest.split_once(end).expect("the page has a second mark");
    assert_same(&path, &format!("{before}{begin}{page}\n{end}{after}"));
}

fn section(name: &str) -> String {
    let schema = schema::read(name);
    let text = |key: &str| schema[key].as_str().unwrap().to_owned();
    let description = text("description").replace(". ", ".\n");
    let mut page =
        format!("\n### {}\n\n{description}\nSchema: [{name}](schemas/{name}.schema.json).\n", text("title"));
    let examples: Vec<_> = schema["examples"].as_array().into_iter().flatten().map(example_text).collect();
    page += &format!("\n```json\n{}\n```\n", examples.join("\n"));
    let mut table = Table::default();
    table.children("", &schema);
    page += &table.text();
    let defs = || schema["$defs"].as_object().into_iter().flatten();
    if let Some((_, event)) = defs().find(|(_, def)| is_event(def)) {
        let mut table = Table::default();
        table.children("", event);
        table.0.truncate(COMMON_KEYS);
        page += &format!(
            "\nEvery event has these keys:\n{}",
            table.text().replace(&one_of(&event["properties"]["event"]), "")
        );
    }
    for (def, schema) in defs() {
        let mut table = Table::default();
        table.children("", schema);
        if is_event(schema) {
            table.0.drain(..COMMON_KEYS);
        }
        let description = schema["description"].as_str().unwrap_or_default();
        page += &format!("\n`{def}`: {description}{}\n{}", one_of(schema), table.text());
    }
    page
}

/// Number of keys that every event has, before its own: `time`, `elapsed_seconds` and `event`.
const COMMON_KEYS: usize = 3;

fn is_event(schema: &Value) -> bool {
    schema["properties"]["event"]["const"].is_string()
}

/// An example; an event is one line, as it is printed.
fn example_text(example: &Value) -> String {
    if example["event"].is_string() { example.to_string() } else { compact(example, 0) }
}

/// The rows of a table: key, type, meaning.
#[derive(Default)]
struct Table(Vec<[String; 3]>);

impl Table {
    /// The rows below a schema whose path is `path`.
    fn children(&mut self, path: &str, schema: &Value) {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let optional = if required.contains(&key.as_str()) { "" } else { ", optional" };
            let meaning =
                format!("{}{}", property["description"].as_str().unwrap_or_default(), one_of(property));
            self.0.push([format!("`{path}`"), format!("{}{optional}", type_of(property)), meaning]);
            self.children(&path, property);
        }
        for variant in schema["oneOf"].as_array().into_iter().flatten() {
            self.children(path, variant);
        }
        if let Some(items) = schema.get("items") {
            // The items of a document that is a list need no path.
            let path = if path.is_empty() { String::new() } else { format!("{path}[]") };
            self.children(&path, items);
        }
        if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
            self.children(&format!("{path}.NAME"), values);
        }
    }

    fn text(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let mut text = "\n| key | type | meaning |\n|---|---|---|\n".to_owned();
        for row in &self.0 {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        text
    }
}

/// The type of a value, in words.
fn type_of(schema: &Value) -> String {
    let is_null = |value: &Value| value["type"] == "null" || *value == "null";
    if let Some(name) = schema["$ref"].as_str() {
        return format!("`{}`", name.rsplit('/').next().unwrap());
    }
    if let Some(variants) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        let mut words: Vec<String> = variants.iter().map(type_of).collect();
        words.dedup();
        return words.join(" or ");
    }
    if let Some(words) = schema["enum"].as_array() {
        return if words.contains(&Value::Null) { "string or null" } else { "string" }.to_owned();
    }
    if schema.get("const").is_some() {
        return "string".to_owned();
    }
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        Value::Null => return "any".to_owned(),
        one => vec![one.clone()],
    };
    let null = if types.iter().any(is_null) && types.len() > 1 { " or null" } else { "" };
    let word = match types[0].as_str().unwrap() {
        "array" => format!("list of {}", plural(&type_of(&schema["items"]))),
        "object" if schema["additionalProperties"].is_object() => {
            format!("map of {}", plural(&type_of(&schema["additionalProperties"])))
        }
        word => word.to_owned(),
    };
    word + null
}

fn plural(word: &str) -> String {
    if word.starts_with('`') || word.contains(' ') { word.to_owned() } else { format!("{word}s") }
}

/// The closed set of a string's values, as a sentence.
fn one_of(schema: &Value) -> String {
    let items = if schema["items"].is_object() { &schema["items"] } else { schema };
    if let Some(word) = items["const"].as_str() {
        return format!(" Always `{word}`.");
    }
    let words: Vec<_> = items["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|word| format!("`{word}`"))
        .collect();
    let is_list = schema["items"].is_object();
    match words.len() {
        0 => String::new(),
        _ if is_list => format!(" Each is one of {}.", words.join(", ")),
        _ => format!(" One of {}.", words.join(", ")),
    }
}

/// JSON in which whatever fits is one line.
fn compact(value: &Value, indent: usize) -> String {
    let line = match value {
        Value::Object(map) => {
            let parts: Vec<_> =
                map.iter().map(|(key, value)| format!("\"{key}\": {}", compact(value, 0))).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(|item| compact(item, 0)).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    };
    if !line.contains('\n') && line.len() + indent <= MAX_WIDTH {
        return line;
    }
    let (inner, outer) = (" ".repeat(indent + 2), " ".repeat(indent));
    match value {
        Value::Object(map) => {
            let parts: Vec<_> = map
                .iter()
                .map(|(key, value)| format!("{inner}\"{key}\": {}", compact(value, indent + 2)))
                .collect();
            format!("{{\n{}\n{outer}}}", parts.join(",\n"))
        }
        Value::Array(items) => {
            let parts: Vec<_> =
                items.iter().map(|item| format!("{inner}{}", compact(item, indent + 2))).collect();
            format!("[\n{}\n{outer}]", parts.join(",\n"))
        }
        other => other.to_string(),
    }
}
