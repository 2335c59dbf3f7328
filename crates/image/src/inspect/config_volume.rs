//! A volume with a machine's first configuration: a folder, or the root of a file system.

use std::collections::BTreeMap;

use crate::media::{DirectoryEntry, FileSystem, Image, ImageError};

/// The files of nocloud.
pub(super) const NOCLOUD: [&str; 3] = ["meta-data", "network-config", "user-data"];

/// The label and the file of the volume for `talos.config=metal-iso`.
pub(super) const METAL_LABEL: &str = "metal-iso";
pub(super) const METAL_CONFIG: &str = "config.yaml";

/// The network of a machine on metal, as `ichor build` writes it into folders.
pub(super) const META_NETWORK: &str = "meta-10.yaml";

/// Shorter volumes are ignored: one of the many file systems that Talos probes for ends there.
pub(super) const SHORTEST: u64 = 64 << 10;

/// Files that a platform reads.
#[derive(Clone, Default)]
pub struct ConfigVolume {
    /// Its location.
    pub place: String,
    /// The label of its file system; none for a folder, which is taken for a volume with the right one.
    pub label: Option<String>,
    /// The label of its partition; empty where it has none.
    pub(crate) partition: String,
    /// Whether it is so short that Talos ignores it.
    pub(crate) is_short: bool,
    /// The files in its root by their names.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Files that a CD with plain names shows under other names.
    pub(crate) renamed: BTreeMap<&'static str, String>,
}

impl ConfigVolume {
    /// Whether Talos, or for folders ichor, reads a file of this name.
    pub fn wants(name: &str) -> bool {
        NOCLOUD.contains(&name) || [METAL_CONFIG, META_NETWORK].contains(&name)
    }

    /// A folder with these files.
    pub fn folder(files: BTreeMap<String, Vec<u8>>) -> Self {
        Self { place: "the folder".to_owned(), files, ..Self::default() }
    }

    /// The known files of a file system. `image` is the one it was opened from.
    pub(super) fn volume(
        place: String,
        partition: &str,
        found: &FileSystem,
        image: &dyn Image,
    ) -> Result<Self, ImageError> {
        let (mut files, mut renamed) = (BTreeMap::new(), BTreeMap::new());
        for name in NOCLOUD.into_iter().chain([METAL_CONFIG]) {
            let is_plain = |entry: &&DirectoryEntry| !entry.folder && is_plain_form(&entry.name, name);
            if let Some(entry) = found.find(name).filter(|entry| !entry.folder) {
                files.insert(name.to_owned(), found.read(image, entry)?);
            } else if let Some(entry) = found.files.iter().find(is_plain).filter(|_| found.has_plain_names())
            {
                renamed.insert(name, entry.name.clone());
            }
        }
        Ok(Self {
            place,
            label: Some(found.label.clone()),
            partition: partition.to_owned(),
            is_short: image.size() < SHORTEST,
            files,
            renamed,
        })
    }

    /// Whether it is found by one of these labels: of its file system, or of its partition where that counts.
    pub(super) fn has_label(&self, wanted: &[&str], by_partition: bool) -> bool {
        let Some(label) = &self.label else { return true };
        wanted.contains(&label.as_str()) || by_partition && wanted.contains(&self.partition.as_str())
    }

    pub(super) fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.files.contains_key(*name))
    }

    /// Whether it has such files, under their own or a plain name.
    pub(super) fn has_or_renamed(&self, names: &[&str]) -> bool {
        self.has(names) || names.iter().any(|name| self.renamed.contains_key(name))
    }

    pub(super) fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// Its labels for people.
    pub(super) fn describe_labels(&self) -> String {
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

/// Whether a plain name of a CD may come from a name: other letters are `_`, and from 8 before the dot and 3 after it on it may be cut.
fn is_plain_form(plain: &str, name: &str) -> bool {
    let parts = |name: &str| {
        let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
        [stem.replace('-', "_"), extension.to_owned()]
    };
    let is_cut = |plain: &str, whole: &str, least: usize| {
        whole.starts_with(plain) && plain.len() >= whole.len().min(least)
    };
    let ([plain_stem, plain_extension], [stem, extension]) = (parts(plain), parts(name));
    is_cut(&plain_stem, &stem, 8) && is_cut(&plain_extension, &extension, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_iso_names_are_matched_to_file_names() {
        for (plain, name) in [
            ("user_dat", "user-data"),
            ("user_data", "user-data"),
            ("network_", "network-config"),
            ("network_config", "network-config"),
            ("config.yam", "config.yaml"),
        ] {
            assert!(is_plain_form(plain, name), "{plain}");
        }
        for (plain, name) in
            [("user", "user-data"), ("network_x", "network-config"), ("config", "config.yaml")]
        {
            assert!(!is_plain_form(plain, name), "{plain}");
        }
    }
}
