//! The list of the files in a tree: what ichor wrote there, and what it was made from.
//!
//! It is the same for the same input, so it has no times in it. Its own time is the stamp: it is written last, and a file that
//! was changed later than the list is looked into again.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path};

use ichor_core::render::artifact::Artifact;
use ichor_talos::digest::sha256;
use ichor_values::format::{Relation, Version};
use serde::{Deserialize, Serialize};

/// The name of the list.
pub(super) const NAME: &str = "manifest.json";

/// The version of its format.
const VERSION: Version = Version::new(1, 0);

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Manifest {
    /// The version of its format; none in those of before it had one, which are read alike.
    version: Option<Version>,
    /// What all files were made from; none where they are of several builds, or of one that was interrupted.
    pub(crate) inputs: Option<Inputs>,
    files: Vec<Entry>,
}

/// The list has a newer format.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "its {NAME} has format version {0}, and this release of ichor knows versions up to {VERSION}; use the release that wrote it, or \
     build to another folder"
)]
pub(crate) struct TooNew(Version);

/// The version alone.
#[derive(Deserialize)]
struct Head {
    version: Option<Version>,
}

/// What a build was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inputs {
    /// The sum of it all.
    pub(crate) sha256: String,
    /// The keys of the cluster file whose secrets are part of it.
    pub(crate) secrets: Vec<String>,
}

/// A file of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) path: String,
    sha256: String,
    size: u64,
    private: bool,
}

impl Entry {
    /// The entry of a file with these contents.
    pub(super) fn of(artifact: &Artifact, bytes: &[u8]) -> Self {
        Self {
            path: artifact.path.clone(),
            sha256: sha256(bytes),
            size: bytes.len() as u64,
            private: artifact.private,
        }
    }

    /// The mode of the file.
    pub(super) fn mode(&self) -> u32 {
        if self.private { 0o600 } else { 0o644 }
    }

    /// Whether a file has the length and the mode of this one.
    pub(super) fn fits(&self, file: &Metadata) -> bool {
        file.is_file() && file.len() == self.size && file.permissions().mode() & 0o777 == self.mode()
    }

    /// Whether the file below `root` is the one of the list. It is read only if it was changed after `listed`.
    pub(super) fn is_there(&self, root: &Path, listed: Stamp) -> Option<Looked> {
        let path = root.join(&self.path);
        let file = fs::symlink_metadata(&path).ok().filter(|file| self.fits(file))?;
        if Stamp::of(&file) < listed {
            return Some(Looked::AtTime);
        }
        fs::read(&path).is_ok_and(|bytes| sha256(&bytes) == self.sha256).then_some(Looked::Inside)
    }

    /// Whether the path stays below the folder of the list.
    fn is_inside(&self) -> bool {
        Path::new(&self.path).components().all(|part| matches!(part, Component::Normal(_)))
    }
}

/// How a file was found to be the one of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// By its time, length and mode.
    AtTime,
    /// By what is in it.
    Inside,
}

/// When a file was last changed in any way: nobody can set this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp(i64, i64);

impl Stamp {
    pub(super) fn of(file: &Metadata) -> Self {
        Self(file.ctime(), file.ctime_nsec())
    }
}

impl Manifest {
    /// A list of files, in order.
    pub(super) fn new(inputs: Option<Inputs>, mut files: Vec<Entry>) -> Self {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Self { version: Some(VERSION), inputs, files }
    }

    /// The list in the folder `root`. One that is missing or damaged is empty: then nothing there is known to be ours.
    pub(super) fn read(root: &Path) -> Result<Self, TooNew> {
        let bytes = fs::read(root.join(NAME)).unwrap_or_default();
        let mut list: Self = serde_json::from_slice(&bytes).unwrap_or_default();
        // What cannot be read may be of a newer version: it is looked for only then, because a list may be long.
        let head = || serde_json::from_slice::<Head>(&bytes).ok()?.version;
        match list.version.or_else(head) {
            Some(version) if version.relation_to(VERSION) == Relation::NewerMajor => {
                return Err(TooNew(version));
            }
            _ => {}
        }
        list.files.retain(Entry::is_inside);
        Ok(list)
    }

    pub(super) fn files(&self) -> &[Entry] {
        &self.files
    }

    /// The entries by their paths.
    pub(super) fn by_path(&self) -> HashMap<&str, &Entry> {
        self.files.iter().map(|entry| (entry.path.as_str(), entry)).collect()
    }

    /// The list as text, a line for each file.
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
