//! Addresses from the output of `terraform output -json`.
//!
//! Three outputs are used, all maps by node name: `external_addresses`, as in ichor's module for Google Cloud, `dhcp_addresses`,
//! and `macs`, the MAC addresses that a cloud assigns. A value is a string or a list.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;

use ichor_values::{Mac, ValueError};

/// The outputs of Terraform.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerraformOutputs {
    /// External addresses by node.
    pub external: BTreeMap<String, Vec<IpAddr>>,
    /// DHCP addresses by node.
    pub dhcp: BTreeMap<String, Vec<IpAddr>>,
    /// MAC addresses by node.
    pub macs: BTreeMap<String, Vec<Mac>>,
}

/// Why outputs cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// Not JSON.
    #[error("not the output of `terraform output -json`: {0}")]
    Syntax(String),
    /// No addresses.
    #[error(
        "found neither an output `external_addresses` nor `dhcp_addresses`, maps from node names to addresses"
    )]
    None,
    /// An invalid value.
    #[error("output `{output}`: {reason}")]
    Value {
        /// The output.
        output: &'static str,
        /// The fault.
        reason: OutputValueError,
    },
}

/// Why the value of an output cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputValueError {
    /// Not a map.
    #[error("not a map from node names")]
    NoMap,
    /// A value is not a string.
    #[error("{node}: {value} is not a string")]
    NoText {
        /// The node.
        node: String,
        /// What it has.
        value: Value,
    },
    /// A value is not an address.
    #[error("{node}: `{text}` is not an IP address")]
    Address {
        /// The node.
        node: String,
        /// What it has.
        text: String,
    },
    /// A value is not a MAC address.
    #[error("{node}: `{text}`: {reason}")]
    Mac {
        /// The node.
        node: String,
        /// What it has.
        text: String,
        /// The fault.
        reason: ValueError,
    },
}

/// Parses the output of `terraform output -json`.
pub fn parse_outputs(text: &str) -> Result<TerraformOutputs, OutputError> {
    let all: Value = serde_json::from_str(text).map_err(|error| OutputError::Syntax(error.to_string()))?;
    let output = |name: &str| all.get(name)?.get("value").filter(|value| !value.is_null());
    let address = |node: &str, text: &str| {
        // Some resources have addresses with a prefix length.
        let address = text.split('/').next().unwrap_or(text);
        address
            .parse()
            .map_err(|_| OutputValueError::Address { node: node.to_owned(), text: text.to_owned() })
    };
    let mac = |node: &str, text: &str| {
        Mac::parse(text).map_err(|reason| OutputValueError::Mac {
            node: node.to_owned(),
            text: text.to_owned(),
            reason,
        })
    };
    let external = parse_by_node("external_addresses", output("external_addresses"), address)?;
    let dhcp = parse_by_node("dhcp_addresses", output("dhcp_addresses"), address)?;
    let macs = parse_by_node("macs", output("macs"), mac)?;
    if external.is_empty() && dhcp.is_empty() {
        return Err(OutputError::None);
    }
    Ok(TerraformOutputs { external, dhcp, macs })
}

fn parse_by_node<T>(
    output: &'static str,
    value: Option<&Value>,
    parse: impl Fn(&str, &str) -> Result<T, OutputValueError>,
) -> Result<BTreeMap<String, Vec<T>>, OutputError> {
    let wrong = |reason| OutputError::Value { output, reason };
    let Some(value) = value else { return Ok(BTreeMap::new()) };
    let map = value.as_object().ok_or_else(|| wrong(OutputValueError::NoMap))?;
    let mut all = BTreeMap::new();
    for (node, value) in map {
        let one = std::slice::from_ref(value);
        let texts = value.as_array().map_or(one, Vec::as_slice);
        let parse_value = |value: &Value| {
            let no_text = || OutputValueError::NoText { node: node.clone(), value: value.clone() };
            let text = value.as_str().ok_or_else(|| wrong(no_text()))?;
            parse(node, text).map_err(wrong)
        };
        all.insert(node.clone(), texts.iter().map(parse_value).collect::<Result<_, _>>()?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_macs_are_read_by_node() {
        let text = r#"{"external_addresses": {"sensitive": false, "type": ["map", "string"], "value": {"a": "203.0.113.20"}},
            "dhcp_addresses": {"value": {"b": ["10.0.0.2/24", "fd00::2"]}},
            "macs": {"value": {"a": ["02:00:00:00:00:01"]}}, "other": {"value": 1}}"#;

        let outputs = parse_outputs(text).unwrap();

        assert_eq!(outputs.external["a"], ["203.0.113.20".parse::<IpAddr>().unwrap()]);
        assert_eq!(outputs.dhcp["b"].len(), 2);
        assert_eq!(outputs.macs["a"], [Mac::parse("02:00:00:00:00:01").unwrap()]);
    }

    #[test]
    fn invalid_outputs_are_rejected_with_the_reason() {
        let wrong = |text: &str| parse_outputs(text).unwrap_err().to_string();

        assert!(wrong("no").starts_with("not the output of"));
        assert_eq!(
            wrong("{}"),
            "found neither an output `external_addresses` nor `dhcp_addresses`, maps from node names to addresses"
        );
        assert_eq!(
            wrong(r#"{"external_addresses": {"value": {"a": "host"}}}"#),
            "output `external_addresses`: a: `host` is not an IP address"
        );
        assert_eq!(
            wrong(r#"{"external_addresses": {"value": ["10.0.0.1"]}}"#),
            "output `external_addresses`: not a map from node names"
        );
    }
}
