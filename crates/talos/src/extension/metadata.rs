//! The metadata of an extension: in its manifest, and in the list of extensions of an image.

use serde_json::{Value, json};

use super::reader::ManifestReader;
use ichor_values::go_yaml::reader::YamlNode;

const KEYS: [&str; 6] = ["name", "version", "author", "description", "compatibility", "extraInfo"];

/// The metadata of an extension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtensionMetadata {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its author.
    pub author: String,
    /// Its description.
    pub description: String,
    /// The releases of Talos that it is for.
    pub constraint: String,
    /// Other keys.
    pub extra: String,
}

impl ExtensionMetadata {
    /// The four texts that every extension should have, by their names.
    pub(super) fn texts(&self) -> [(&'static str, &str); 4] {
        let texts = [&self.name, &self.version, &self.author, &self.description];
        [0, 1, 2, 3].map(|nth| (KEYS[nth], texts[nth].as_str()))
    }

    pub(super) fn read(reader: &mut ManifestReader<'_>, node: &YamlNode, path: &str) -> Self {
        let mut metadata = Self::default();
        for (name, path, value) in reader.fields(node, path, &KEYS) {
            let text = match name {
                "name" => &mut metadata.name,
                "version" => &mut metadata.version,
                "author" => &mut metadata.author,
                "description" => &mut metadata.description,
                "extraInfo" => &mut metadata.extra,
                _ => {
                    for (_, path, value) in reader.fields(value, &path, &["talos"]) {
                        for (_, path, value) in reader.fields(value, &path, &["version"]) {
                            metadata.constraint = reader.text(value, &path);
                        }
                    }
                    continue;
                }
            };
            *text = reader.text(value, &path);
        }
        metadata
    }

    /// As Talos writes it.
    pub(super) fn value(&self) -> Value {
        let mut value = json!({
            "name": self.name,
            "version": self.version,
            "author": self.author,
            "description": self.description,
            "compatibility": {"talos": {"version": self.constraint}},
        });
        if !self.extra.is_empty() {
            value["extraInfo"] = json!(self.extra);
        }
        value
    }
}
