//! `extensions.yaml`: the extensions of an image, in the order their file systems are stacked on that of Talos.

use serde_json::json;

use super::metadata::ExtensionMetadata;
use super::reader::{self, ManifestReader};
use super::verdict::Remark;
use crate::release;
use ichor_values::TalosVersion;
use ichor_values::go_yaml::emit::emit;

/// The name of the list, at the top of an initramfs.
pub const LAYERS: &str = "extensions.yaml";

/// An extension in an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// The file with its file system.
    pub image: String,
    /// The metadata of its manifest.
    pub metadata: ExtensionMetadata,
}

impl Layer {
    /// The layers of a list, the lowest first; or why Talos cannot read it, and does not boot.
    pub fn read(bytes: &[u8]) -> Result<Vec<Self>, Remark> {
        let (_, newest) = release::known_releases();
        let talos = TalosVersion::parse(&format!("1.{newest}")).expect("a release ichor knows is a version");
        let root = reader::document(LAYERS, bytes, &talos)?;
        let mut reader = ManifestReader::new(LAYERS, &talos);
        let mut layers = Vec::new();
        for (_, path, value) in reader.fields(&root, "", &["layers"]) {
            for (path, item) in reader.items(value, &path) {
                let mut layer = Self::default();
                for (name, path, value) in reader.fields(item, &path, &["image", "metadata"]) {
                    match name {
                        "image" => layer.image = reader.text(value, &path),
                        _ => layer.metadata = ExtensionMetadata::read(&mut reader, value, &path),
                    }
                }
                layers.push(layer);
            }
        }
        let first = |problems: Vec<Remark>| problems.into_iter().next().expect("refused for a reason");
        reader.finish(layers).map(|(layers, _)| layers).map_err(first)
    }

    /// The text of a list.
    pub fn list(layers: &[Self]) -> String {
        let entry = |layer: &Self| json!({"image": layer.image, "metadata": layer.metadata.value()});
        emit(&json!({"layers": layers.iter().map(entry).collect::<Vec<_>>()}))
    }
}

/// The text of the manifest of an extension.
pub fn manifest(metadata: &ExtensionMetadata) -> String {
    emit(&json!({"version": "v1alpha1", "metadata": metadata.value()}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frr() -> ExtensionMetadata {
        ExtensionMetadata {
            name: "frr".to_owned(),
            version: "10.3".to_owned(),
            author: "ichor".to_owned(),
            description: "BGP on the node: FRR".to_owned(),
            constraint: ">= v1.11.0".to_owned(),
            extra: String::new(),
        }
    }

    #[test]
    fn a_list_is_written_as_talos_writes_it_and_read_back() {
        let dep = ExtensionMetadata { name: "modules.dep".to_owned(), ..ExtensionMetadata::default() };
        let layers = [
            Layer { image: "0.sqsh".to_owned(), metadata: frr() },
            Layer { image: "modules.dep.sqsh".to_owned(), metadata: dep },
        ];

        let text = Layer::list(&layers);

        assert_eq!(
            text,
            "layers:\n    - image: 0.sqsh\n      metadata:\n        name: frr\n        version: \"10.3\"\n        \
             author: ichor\n        description: 'BGP on the node: FRR'\n        compatibility:\n            talos:\n                \
             version: '>= v1.11.0'\n    - image: modules.dep.sqsh\n      metadata:\n        name: modules.dep\n        \
             version: \"\"\n        author: \"\"\n        description: \"\"\n        compatibility:\n            \
             talos:\n                version: \"\"\n"
        );
        assert_eq!(Layer::read(text.as_bytes()).unwrap(), layers);
    }

    #[test]
    fn entries_that_talos_ignores_are_ignored_and_others_rejected() {
        let layers =
            Layer::read(b"layers: [{image: a, more: x, metadata: {name: b, extraInfo: c}}, null]\nelse: 1\n");
        assert_eq!(layers.unwrap()[0].metadata.extra, "c");
        assert_eq!(Layer::read(b"layers:\n").unwrap(), []);
        for text in ["", "- a\n", "layers: {}\n", "layers: [{image: [a]}]\n"] {
            assert!(Layer::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
