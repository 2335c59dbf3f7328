//! Schema of the Proxmox API: `pve-api.json` has the used methods and their parameters from the documentation of Proxmox
//! 9.1, `pve-qemu.json` the settings of a VM.

use serde_json::{Map, Value};

const METHODS: &str = include_str!("pve-api.json");
const SETTINGS: &str = include_str!("../../../../core/tests/hypervisor/pve-qemu.json");

/// The used methods.
pub struct Schema {
    methods: Map<String, Value>,
}

/// A recognised method.
pub struct Call {
    /// Method and path template, such as `GET /nodes/{node}/qemu`.
    pub name: String,
    /// All parameters, including those in the path.
    pub parameters: Vec<(String, String)>,
}

impl Call {
    /// A parameter.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

impl Schema {
    pub fn new() -> Self {
        let mut methods: Map<String, Value> = serde_json::from_str(METHODS).unwrap();
        let mut settings: Map<String, Value> = serde_json::from_str(SETTINGS).unwrap();
        for (key, setting) in &mut settings {
            if key != "vmid" {
                setting["optional"] = 1.into();
            }
        }
        settings.insert("node".to_owned(), serde_json::json!({"type": "string", "format": "pve-node"}));
        methods.insert("POST /nodes/{node}/qemu".to_owned(), settings.clone().into());
        settings.remove("pool");
        methods.insert("PUT /nodes/{node}/qemu/{vmid}/config".to_owned(), settings.into());
        Self { methods }
    }

    /// Finds the method of a path and its path parameters.
    pub fn find(&self, method: &str, path: &[String], given: &[(String, String)]) -> Option<Call> {
        self.methods.keys().find_map(|name| {
            let (known, template) = name.split_once(" /").unwrap();
            let parts: Vec<_> = template.split('/').collect();
            if known != method || parts.len() != path.len() {
                return None;
            }
            let mut parameters = given.to_vec();
            for (part, value) in parts.iter().zip(path) {
                match part.strip_prefix('{') {
                    Some(key) => parameters.push((key.trim_end_matches('}').to_owned(), value.clone())),
                    None if part == value => {}
                    None => return None,
                }
            }
            Some(Call { name: name.clone(), parameters })
        })
    }

    /// Invalid parameters of a call, with reasons.
    pub fn faults(&self, call: &Call) -> Map<String, Value> {
        let properties = self.methods[&call.name].as_object().unwrap();
        let mut faults = Map::new();
        let mut say = |key: &str, why: String| faults.insert(key.to_owned(), why.into());
        for (key, value) in &call.parameters {
            if call.parameters.iter().filter(|(known, _)| known == key).count() > 1 {
                say(key, "it is given more than once".to_owned());
            }
            let many = format!("{}[n]", key.trim_end_matches(|letter: char| letter.is_ascii_digit()));
            match properties.get(key).or_else(|| properties.get(&many)) {
                Some(property) => {
                    if let Some(why) = fault(property, value) {
                        say(key, why);
                    }
                    if let Some(other) =
                        property["requires"].as_str().filter(|other| call.get(other).is_none())
                    {
                        say(key, format!("missing property - '{key}' requires this property: {other}"));
                    }
                }
                None => {
                    say(key, "property is not defined in schema and the schema does not allow additional properties".to_owned());
                }
            }
        }
        for (key, property) in properties {
            if property["optional"] != 1 && !key.ends_with("[n]") && call.get(key).is_none() {
                say(key, "property is missing and it is not optional".to_owned());
            }
        }
        faults
    }
}

/// Why a value of a property is invalid.
fn fault(property: &Value, value: &str) -> Option<String> {
    if let Some(format) = property["format"].as_object() {
        return value.split(',').find_map(|part| part_fault(format, part));
    }
    match property["type"].as_str().unwrap() {
        "boolean" if !["0", "1"].contains(&value) => {
            return Some(format!("type check ('boolean') failed - got '{value}'"));
        }
        "integer" | "number" => {
            let Ok(number) = value.parse::<i64>() else {
                return Some(format!("type check ('integer') failed - got '{value}'"));
            };
            let least = property["minimum"].as_i64().unwrap_or(i64::MIN);
            let most = property["maximum"].as_i64().unwrap_or(i64::MAX);
            return (number < least || number > most)
                .then(|| format!("value must be between {least} and {most}"));
        }
        _ => {}
    }
    if let Some(values) = property["enum"].as_array()
        && !values.iter().any(|known| known == value)
    {
        return Some(format!("value '{value}' does not have a value in the enumeration"));
    }
    if let Some(pattern) = property["pattern"].as_str().or_else(|| pattern(property["format"].as_str()?))
        && !regex::Regex::new(&format!("^(?:{pattern})$")).unwrap().is_match(value)
    {
        return Some(format!("value does not match the regex pattern: {value}"));
    }
    let longest = property["maxLength"].as_u64().unwrap_or(u64::MAX);
    (value.len() as u64 > longest).then(|| format!("value may only be {longest} characters long"))
}

/// Named formats.
fn pattern(format: &str) -> Option<&'static str> {
    Some(match format {
        "pve-node" => "[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?",
        "pve-storage-id" => "[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]",
        "pve-vmid" => "[1-9][0-9]{2,8}",
        "pve-poolid" => "[A-Za-z0-9._/-]+",
        "pve-storage-content" => "images|rootdir|iso|vztmpl|backup|snippets|import",
        _ => return None,
    })
}

/// Why a `key=value` pair, or a value of the default key, is invalid.
fn part_fault(format: &Map<String, Value>, part: &str) -> Option<String> {
    let first =
        || format.iter().find(|(_, property)| property["default_key"] == 1).map(|(key, _)| key.as_str());
    let (key, value) = match part.split_once('=') {
        Some(pair) => pair,
        None => (first()?, part),
    };
    let Some(property) = format.get(key) else { return Some(format!("invalid format - there is no {key}")) };
    let property = property["alias"].as_str().map_or(property, |alias| &format[alias]);
    fault(property, value).map(|fault| format!("{key}: {fault}"))
}
