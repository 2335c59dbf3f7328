//! What carries a machine's first configuration: a folder, or the root of a volume.

use std::collections::BTreeMap;

use crate::media::{FileSystem, Image, ReadError};

/// The files of nocloud.
pub(super) const NOCLOUD: [&str; 3] = ["meta-data", "network-config", "user-data"];

/// The label and the file of a volume that `talos.config=metal-iso` looks for.
pub(super) const METAL_LABEL: &str = "metal-iso";
pub(super) const METAL_CONFIG: &str = "config.yaml";

/// The network of a machine on metal, as `ichor build` writes it into folders.
pub(super) const META_NETWORK: &str = "meta-10.yaml";

/// Shorter volumes are not looked into: one of the many file systems that Talos looks for ends there.
pub(super) const SHORTEST: u64 = 64 << 10;

/// Files that a platform looks for.
#[derive(Clone, Default)]
pub struct Carrier {
    /// Where it is.
    pub place: String,
    /// The label of its file system; none for a folder, which is taken for a volume with the right one.
    pub label: Option<String>,
    /// The label of its partition; empty where it has none.
    pub partition: String,
    /// Whether it is so short that Talos does not look into it.
    pub is_short: bool,
    /// The files in its root by their names.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Carrier {
    /// Whether Talos, or for folders ichor, looks for a file of this name.
    pub fn wants(name: &str) -> bool {
        NOCLOUD.contains(&name) || [METAL_CONFIG, META_NETWORK].contains(&name)
    }

    /// A folder with these files.
    pub fn folder(files: BTreeMap<String, Vec<u8>>) -> Self {
        Self { place: "the folder".to_owned(), files, ..Self::default() }
    }

    /// The files of a file system that are looked for. `image` is the one it was opened from.
    pub(super) fn volume(
        place: String,
        partition: &str,
        found: &FileSystem,
        image: &dyn Image,
    ) -> Result<Self, ReadError> {
        let mut files = BTreeMap::new();
        for name in NOCLOUD.into_iter().chain([METAL_CONFIG]) {
            if let Some(entry) = found.find(name).filter(|entry| !entry.folder) {
                files.insert(name.to_owned(), found.read(image, entry)?);
            }
        }
        Ok(Self {
            place,
            label: Some(found.label.clone()),
            partition: partition.to_owned(),
            is_short: image.size() < SHORTEST,
            files,
        })
    }

    /// Whether it is found by one of these labels: of its file system, or of its partition where that counts.
    pub(super) fn is_called(&self, wanted: &[&str], by_partition: bool) -> bool {
        let Some(label) = &self.label else { return true };
        wanted.contains(&label.as_str()) || by_partition && wanted.contains(&self.partition.as_str())
    }

    pub(super) fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.files.contains_key(*name))
    }

    pub(super) fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// Its labels for people.
    pub(super) fn called(&self) -> String {
        let labels = [self.label.as_deref().unwrap_or_default(), &self.partition];
        let labels: Vec<String> =
            labels.iter().filter(|label| !label.is_empty()).map(|label| format!("`{label}`")).collect();
        if labels.is_empty() {
            "has no label".to_owned()
        } else {
            format!("has the label {}", labels.join(" and "))
        }
    }
}
