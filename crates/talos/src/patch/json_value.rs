//! The values of a configuration and of a JSON patch as they are after Talos' detour through JSON.
//!
//! Talos reads the patch with the go-yaml of its release, and the configuration with go-yaml v2, which knows the booleans of
//! YAML 1.1 and takes dates for text.

use serde_json::Value;

use crate::types::scalar::{self, ScalarError};
use ichor_values::go_yaml::reader::{YamlNode, YamlValue};
use ichor_values::go_yaml::scalar as word;
use ichor_values::go_yaml::scalar::ScalarValue;

/// The go-yaml that reads a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GoYaml {
    V2,
    V4,
}

/// The value of a document.
pub(super) fn read(node: &YamlNode, reader: GoYaml) -> Result<Value, ScalarError> {
    let mut node = node.clone();
    resolve(&mut node, reader)?;
    scalar::any(&node)
}

/// Turns the words that the reader understands differently into others.
fn resolve(node: &mut YamlNode, reader: GoYaml) -> Result<(), ScalarError> {
    match &mut node.body {
        YamlValue::List(items) => items.iter_mut().try_for_each(|item| resolve(item, reader)),
        YamlValue::Map(entries) => entries.iter_mut().try_for_each(|(_, value)| resolve(value, reader)),
        YamlValue::Text(_) => Ok(()),
        YamlValue::Plain(text) => {
            let value = word::read(text);
            if matches!(value, ScalarValue::Float(number) if !number.is_finite()) {
                return Err(ScalarError::Mismatch { wanted: "a finite number".to_owned() });
            }
            if reader == GoYaml::V2 {
                if matches!(value, ScalarValue::Time(_)) {
                    node.body = YamlValue::Text(text.clone());
                } else if let Some(flag) = value.flag(text) {
                    *text = flag.to_string();
                }
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use ichor_values::go_yaml::reader as yaml;
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_read_as_by_the_go_yaml_of_their_text() {
        let text = "[on, 'on', 2001-01-01, 0x10]";
        let value = |reader| read(&yaml::parse(text).unwrap()[0], reader).unwrap();

        assert_eq!(value(GoYaml::V2), json!([true, "on", "2001-01-01", 16]));
        assert_eq!(value(GoYaml::V4), json!(["on", "on", "2001-01-01T00:00:00Z", 16]));
        assert!(read(&yaml::parse("[.inf]").unwrap()[0], GoYaml::V2).is_err());
    }
}
