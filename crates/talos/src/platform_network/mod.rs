//! The network configuration a platform gives Talos; on metal, META key 10.
//!
//! [`read`] decodes a text as a Talos release does: every field with its value there, or why the release cannot
//! read it. Unknown keys are ignored, as Talos does; names are matched in any case. `shape` is for platforms that make
//! the configuration themselves.
//!
//! Not here: the text for a node (`ichor_core::render::platform_network`).

mod field;
mod shape;
mod words;

use serde_json::{Map, Value, json};

use self::field::{Of, RecordField};
use self::shape::ReleaseFormat;
use super::go::{duration, netip};
use super::types::{self, scalar};
use crate::schema_reader::{Fault, SchemaReader};
use ichor_values::TalosVersion;
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::{SyntaxError, YamlNode};
use ichor_values::go_yaml::scalar::Leniency;

/// Why a release of Talos cannot read a network configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// It is not YAML.
    #[error(transparent)]
    NotYaml(#[from] SyntaxError),
    /// Some values do not fit.
    #[error("{}", .0.join("\n"))]
    Faults(Vec<String>),
}

/// Decodes META key 10 as a release on metal does: its fields, as the release prints them.
pub fn read(text: &str, talos: &TalosVersion) -> Result<Value, NetworkError> {
    let shape = ReleaseFormat { talos };
    let mut reader =
        NetworkReader { typed: SchemaReader::new(Leniency::for_minor(types::minor(talos))), shape };
    let mut network = match yaml::first(text)? {
        Some(root) => reader.record(&root, "", field::NETWORK).unwrap_or_else(|| shape.empty(field::NETWORK)),
        None => shape.empty(field::NETWORK),
    };
    // The platform replaces any existing metadata.
    network.insert("metadata".to_owned(), json!({"platform": "metal"}));
    let to_error =
        |faults: Vec<Fault>| NetworkError::Faults(faults.iter().map(ToString::to_string).collect());
    reader.typed.finish(Value::Object(network)).map_err(to_error)
}

/// A configuration of given values, completed with everything that a release prints.
pub(super) fn shape(given: &Map<String, Value>, talos: &TalosVersion) -> Value {
    Value::Object(ReleaseFormat { talos }.fill(given, field::NETWORK))
}

struct NetworkReader<'t> {
    typed: SchemaReader,
    shape: ReleaseFormat<'t>,
}

impl NetworkReader<'_> {
    /// The fields of a record in their order, without the empty ones that are omitted.
    fn record(&mut self, node: &YamlNode, path: &str, fields: &[RecordField]) -> Option<Map<String, Value>> {
        let entries = self.typed.entries(node, path)?;
        let mut record = Map::new();
        for field in fields {
            if !self.shape.has(field) {
                continue;
            }
            let path = if path.is_empty() { field.name.to_owned() } else { format!("{path}.{}", field.name) };
            let written = entries.iter().find(|(name, _)| name == field.name);
            let value = written.and_then(|(_, node)| self.value(node, &path, field.of));
            self.shape.insert_field(&mut record, field, value);
        }
        Some(record)
    }

    fn value(&mut self, node: &YamlNode, path: &str, of: Of) -> Option<Value> {
        match of {
            Of::Text => self.typed.text(node, path).map(Value::from),
            Of::Flag => self.typed.flag(node, path).map(Value::from),
            Of::Number(least, most) => {
                let number = self.typed.number(node, path, (least, most))?;
                i64::try_from(number).ok().map(Value::from)
            }
            Of::Record(fields) => self.record(node, path, fields).map(Value::Object),
            Of::List(of) => {
                let items = self.typed.items(node, path)?;
                Some(items.iter().filter_map(|item| self.value(item, path, *of)).collect())
            }
            Of::Texts => {
                let entries = self.typed.entries(node, path)?;
                let mut text =
                    |(name, node): (String, &YamlNode)| Some((name, self.typed.text(node, path)?.into()));
                Some(Value::Object(entries.into_iter().filter_map(&mut text).collect()))
            }
            Of::Pointer(of) => self.value(node, path, *of),
            Of::FailOverMac if !self.shape.at_least(12) => {
                let number = self.typed.number(node, path, (0, 255))?;
                i64::try_from(number).ok().map(Value::from)
            }
            _ => self.word(node, path, of),
        }
    }

    /// A text that has to have a form.
    fn word(&mut self, node: &YamlNode, path: &str, of: Of) -> Option<Value> {
        let text = self.typed.text(node, path)?;
        let may_be_empty = |text: &str, print: fn(&str) -> Option<String>| {
            if text.is_empty() { Some(String::new()) } else { print(text) }
        };
        let printed = match of {
            Of::Duration => duration::parse(&text).map(duration::print),
            Of::Word(set) => set.find(&text).map(str::to_owned),
            Of::FailOverMac => words::fail_over_mac(&text).map(str::to_owned),
            Of::Table => words::table(&text, self.shape.at_least(12)),
            Of::Flags(set, may_be_empty) => words::flags(&text, set, may_be_empty),
            Of::Address => may_be_empty(&text, netip::print_address),
            Of::Prefix => may_be_empty(&text, netip::print_prefix),
            Of::Mac => scalar::hardware_address(&text),
            Of::Text
            | Of::Flag
            | Of::Number(..)
            | Of::Record(_)
            | Of::List(_)
            | Of::Texts
            | Of::Pointer(_) => None,
        };
        if printed.is_none() {
            self.typed.fault(node, format_args!("`{path}: {text}` is not {}", of.name()));
        }
        printed.map(Value::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_on(text: &str, talos: &str) -> Result<Value, NetworkError> {
        read(text, &TalosVersion::parse(talos).unwrap())
    }

    #[test]
    fn names_match_in_any_case_and_unknown_keys_are_ignored() {
        let text = "addresses: [{address: 10.0.0.1/24, family: INET4, scope: Link, flags: Permanent, colour: red}]\ncolour: red";

        let network = read_on(text, "v1.12.4").unwrap();

        let want = json!([{"address": "10.0.0.1/24", "linkName": "", "family": "inet4", "scope": "link",
            "flags": "permanent", "layer": "default"}]);
        assert_eq!(network["addresses"], want);
    }

    #[test]
    fn fields_differ_between_releases() {
        assert!(read_on("routes: [{table: 88}]", "v1.11.5").is_err());
        assert!(read_on("routes: [{table: 88}]", "v1.12.4").is_ok());
        assert!(read_on("links: [{bondMaster: {failOverMac: none}}]", "v1.11.5").is_err());
        assert!(read_on("links: [{bondMaster: {failOverMac: none}}]", "v1.12.4").is_ok());
        assert!(read_on("links: [{multicast: maybe}]", "v1.11.5").is_ok(), "no such key yet");
        assert!(read_on("links: [{multicast: maybe}]", "v1.12.4").is_err());
    }

    #[test]
    fn an_error_names_line_and_key() {
        let Err(NetworkError::Faults(faults)) =
            read_on("addresses:\n  - flags: ''\n    family: ipv4\n", "v1.12.4")
        else {
            panic!("it was read");
        };

        assert!(faults[0].starts_with("line 3: `addresses.family: ipv4` is not"), "{faults:?}");
        assert!(faults[1].starts_with("line 2: `addresses.flags: ` is not"), "{faults:?}");
    }

    #[test]
    fn go_omits_a_vip_that_is_only_an_address() {
        let network = read_on("operators: [{operator: vip, vip: {ip: 10.0.0.1}}]", "v1.12.4").unwrap();

        assert_eq!(network["operators"][0].get("vip"), None);
    }
}
