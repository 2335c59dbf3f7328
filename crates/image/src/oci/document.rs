//! The documents of an image: manifests, and lists of them.

use serde_json::{Value, json};

use super::descriptor::{Descriptor, INDEX, MANIFEST};
use super::error::OciError;

/// The most layers, and images in an index; no builder makes more than 127 layers.
const MOST: usize = 1000;

/// A document that leads to an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// An image for one architecture.
    Manifest(Manifest),
    /// Several images.
    Index(Vec<Descriptor>),
}

/// An image for one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The configuration.
    pub config: Descriptor,
    /// The layers, the lowest first.
    pub layers: Vec<Descriptor>,
}

impl Document {
    /// Reads a document; `what` is its name in errors.
    pub fn read(bytes: &[u8], what: &str) -> Result<Self, OciError> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| OciError::json(what, format!("not JSON: {error}")))?;
        let list = |key: &str| -> Result<Vec<Descriptor>, OciError> {
            let items = value.get(key).and_then(Value::as_array);
            let items = items.ok_or_else(|| OciError::json(what, format!("`{key}` is not a list")))?;
            if items.len() > MOST {
                return Err(OciError::json(what, format!("`{key}` has more than {MOST} items")));
            }
            items.iter().map(|item| Descriptor::read(item, what)).collect()
        };
        if value.get("schemaVersion").and_then(Value::as_u64) == Some(1) {
            return Err(OciError::json(what, "a Docker schema 1 manifest, which is not supported"));
        }
        if value.get("manifests").is_some() {
            return Ok(Self::Index(list("manifests")?));
        }
        let Some(config) = value.get("config") else {
            return Err(OciError::json(what, "neither an image manifest nor an index"));
        };
        Ok(Self::Manifest(Manifest { config: Descriptor::read(config, what)?, layers: list("layers")? }))
    }
}

impl Manifest {
    /// The manifest as stored.
    pub fn bytes(&self) -> Vec<u8> {
        let layers: Vec<_> = self.layers.iter().map(Descriptor::json).collect();
        let value = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self.config.json(),
            "layers": layers,
        });
        value.to_string().into_bytes()
    }
}

/// An index as stored.
pub fn index(images: &[Descriptor]) -> Vec<u8> {
    let images: Vec<_> = images.iter().map(Descriptor::json).collect();
    json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": images}).to_string().into_bytes()
}
