//! YAML as SOPS writes it: blocks, four spaces deep, armored keys as they are.

use serde_json::{Map, Value};

use crate::document::one_line;

const INDENT: usize = 4;

/// Writes a map.
pub(super) fn write(map: &Map<String, Value>) -> String {
    let mut out = String::new();
    entries(map, 0, &mut out);
    out
}

fn entries(map: &Map<String, Value>, depth: usize, out: &mut String) {
    for (key, value) in map {
        pad(depth, out);
        entry(key, value, depth, out);
    }
}

fn entry(key: &str, value: &Value, depth: usize, out: &mut String) {
    out.push_str(&word(key));
    out.push(':');
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            entries(map, depth + INDENT, out);
        }
        Value::Array(list) if !list.is_empty() => {
            out.push('\n');
            items(list, depth + INDENT, out);
        }
        Value::String(text) if is_block(text) => {
            out.push_str(" |\n");
            for line in text.lines() {
                pad(depth + INDENT, out);
                out.push_str(line);
                out.push('\n');
            }
        }
        leaf => {
            out.push(' ');
            out.push_str(&scalar(leaf));
            out.push('\n');
        }
    }
}

fn items(list: &[Value], depth: usize, out: &mut String) {
    for item in list {
        pad(depth, out);
        match item {
            Value::Object(map) if !map.is_empty() => {
                // The first entry follows the dash, the others are below it.
                for (nth, (key, value)) in map.iter().enumerate() {
                    if nth == 0 {
                        out.push_str("- ");
                    } else {
                        pad(depth + 2, out);
                    }
                    entry(key, value, depth + 2, out);
                }
            }
            leaf => {
                out.push_str("- ");
                out.push_str(&scalar(leaf));
                out.push('\n');
            }
        }
    }
}

fn pad(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', depth));
}

/// Whether a text can be written as a block scalar, as armored keys are.
fn is_block(text: &str) -> bool {
    text.ends_with('\n')
        && !text.ends_with("\n\n")
        && text.lines().all(|line| !line.starts_with(' ') && line.bytes().all(|b| (b' '..=b'~').contains(&b)))
        && !text.starts_with('\n')
}

/// Any other value on one line; JSON is valid YAML.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => word(text),
        other => one_line(other),
    }
}

/// A text, in quotes unless it is one that every reader of YAML takes for text.
fn word(text: &str) -> String {
    let is_key = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_ascii_lowercase().as_str());
    let is_encrypted = text.starts_with("ENC[AES256_GCM,") && text.ends_with(']');
    if is_key || is_encrypted && text.is_ascii() && !text.contains([' ', '#']) {
        return text.to_owned();
    }
    one_line(&Value::from(text))
}
