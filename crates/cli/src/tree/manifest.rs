//! The manifest of an output folder: the files that ichor wrote, and the inputs of the build.
//!
//! The same input gives the same manifest, so it has no timestamps. It is written last: a file whose change time is later than that of
//! the manifest is read again.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path};

use ichor_core::render::artifact::Artifact;
use ichor_talos::digest::sha256;
use ichor_values::format::{Relation, Version};
use serde::{Deserialize, Serialize};

/// The file name of the manifest.
pub(super) const NAME: &str = "manifest.json";

/// The version of its format.
const VERSION: Version = Version::new(2, 0);

/// The files of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Manifest {
    /// The format version; manifests without one are read as the first version.
    version: Option<Version>,
    /// The inputs of the build; `None` if the files are of several builds or of an interrupted one.
    pub(crate) inputs: Option<BuildInputs>,
    files: Vec<ManifestEntry>,
}

/// The manifest has a newer format.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{NAME} has format version {0}, and this release of ichor supports versions up to {VERSION}; use the release that wrote it, or \
     build to another folder"
)]
pub(crate) struct ManifestTooNew(Version);

/// The version of a manifest of any format.
#[derive(Deserialize)]
struct ManifestHeader {
    version: Option<Version>,
}

/// The inputs of a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BuildInputs {
    /// The digest of all inputs.
    pub(crate) sha256: String,
    /// The keys of the cluster file whose secrets are part of the digest.
    #[serde(rename = "secret_keys", alias = "secrets")]
    pub(crate) secrets: Vec<String>,
}

/// A file of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ManifestEntry {
    pub(super) path: String,
    sha256: String,
    #[serde(rename = "size_bytes", alias = "size")]
    size: u64,
    private: bool,
}

impl ManifestEntry {
    /// The entry of an artifact with these contents.
    pub(super) fn new(artifact: &Artifact, bytes: &[u8]) -> Self {
        Self {
            path: artifact.path.clone(),
            sha256: sha256(bytes),
            size: bytes.len() as u64,
            private: artifact.private,
        }
    }

    /// The permissions of the file.
    pub(super) fn mode(&self) -> u32 {
        if self.private { 0o600 } else { 0o644 }
    }

    /// Whether a file has the size and mode of this entry.
    pub(super) fn matches(&self, file: &Metadata) -> bool {
        file.is_file() && file.len() == self.size && file.permissions().mode() & 0o777 == self.mode()
    }

    /// Compares the file below `root` with this entry. It is read only if it was changed after `listed`.
    pub(super) fn compare(&self, root: &Path, listed: ChangeTime) -> Option<EntryMatch> {
        let path = root.join(&self.path);
        let file = fs::symlink_metadata(&path).ok().filter(|file| self.matches(file))?;
        if ChangeTime::from_metadata(&file) < listed {
            return Some(EntryMatch::ByTime);
        }
        fs::read(&path).is_ok_and(|bytes| sha256(&bytes) == self.sha256).then_some(EntryMatch::ByContents)
    }

    /// Whether the path stays below the folder of the manifest.
    fn is_inside(&self) -> bool {
        Path::new(&self.path).components().all(|part| matches!(part, Component::Normal(_)))
    }
}

/// How a file was compared with its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryMatch {
    /// By change time, size and mode.
    ByTime,
    /// By contents.
    ByContents,
}

/// The change time of a file (ctime), which programs cannot set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChangeTime(i64, i64);

impl ChangeTime {
    pub(super) fn from_metadata(file: &Metadata) -> Self {
        Self(file.ctime(), file.ctime_nsec())
    }
}

impl Manifest {
    /// A manifest of files, sorted by path.
    pub(super) fn new(inputs: Option<BuildInputs>, mut files: Vec<ManifestEntry>) -> Self {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Self { version: Some(VERSION), inputs, files }
    }

    /// Reads the manifest in the folder `root`. A missing or damaged manifest is empty: then no file there is known to be ichor's.
    pub(super) fn read(root: &Path) -> Result<Self, ManifestTooNew> {
        let bytes = fs::read(root.join(NAME)).unwrap_or_default();
        let mut list: Self = serde_json::from_slice(&bytes).unwrap_or_default();
        // A manifest that does not parse may be of a newer version. The header is parsed only then: manifests may be long.
        let header = || serde_json::from_slice::<ManifestHeader>(&bytes).ok()?.version;
        match list.version.or_else(header) {
            Some(version) if version.relation_to(VERSION) == Relation::NewerMajor => {
                return Err(ManifestTooNew(version));
            }
            _ => {}
        }
        list.files.retain(ManifestEntry::is_inside);
        Ok(list)
    }

    pub(super) fn files(&self) -> &[ManifestEntry] {
        &self.files
    }

    /// The entries by their paths.
    pub(super) fn by_path(&self) -> HashMap<&str, &ManifestEntry> {
        self.files.iter().map(|entry| (entry.path.as_str(), entry)).collect()
    }

    /// The manifest as JSON, one line per file.
    pub(super) fn text(&self) -> String {
        let json = |value: serde_json::Result<String>| value.expect("texts and numbers only");
        let mut text = format!(
            "{{\n\"version\": \"{VERSION}\",\n\"inputs\": {},\n\"files\": [",
            json(serde_json::to_string(&self.inputs))
        );
        for (nth, entry) in self.files.iter().enumerate() {
            let comma = if nth == 0 { "" } else { "," };
            let _ = write!(text, "{comma}\n{}", json(serde_json::to_string(entry)));
        }
        text.push_str("\n]\n}\n");
        text
    }
}
