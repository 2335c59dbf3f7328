//! A folder of files that ichor makes: written in one step each, left alone where nothing changed, and removed when they no
//! longer belong there.
//!
//! `manifest.json` in the folder lists what was written. Nothing else is ever removed.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::thread;

use anyhow::{Context as _, anyhow};
use ichor_core::render::artifact;
use ichor_core::talos::digest::sha256;
use serde_json::{Value, json};

use crate::disk;

/// The list of what was written.
const MANIFEST: &str = "manifest.json";

/// A file to be written.
pub(crate) struct Artifact {
    /// Where it goes, from the folder.
    pub(crate) path: PathBuf,
    /// What it holds.
    pub(crate) contents: Vec<u8>,
    /// Whether it holds secrets: nobody else may read it.
    pub(crate) private: bool,
}

impl Artifact {
    /// A file with secrets.
    pub(crate) fn private(path: impl Into<PathBuf>, contents: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), contents: contents.into(), private: true }
    }

    /// A file for everybody.
    pub(crate) fn public(path: impl Into<PathBuf>, contents: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), contents: contents.into(), private: false }
    }

    fn mode(&self) -> u32 {
        if self.private { 0o600 } else { 0o644 }
    }

    fn is_there(&self, path: &Path) -> bool {
        let same_mode = fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o777 == self.mode());
        same_mode && fs::read(path).is_ok_and(|contents| contents == self.contents)
    }
}

impl From<artifact::Artifact> for Artifact {
    fn from(made: artifact::Artifact) -> Self {
        Self { path: made.path.into(), contents: made.contents, private: made.private }
    }
}

/// What a write did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    total: usize,
    written: usize,
    removed: usize,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.written, self.total) {
            (0, total) => write!(f, "nothing to write: {total} files are as they should be")?,
            (written, total) if written == total => write!(f, "{total} files written")?,
            (written, total) => write!(f, "{written} of {total} files written, the others did not change")?,
        }
        match self.removed {
            0 => Ok(()),
            removed => write!(f, "; {removed} of an earlier build removed"),
        }
    }
}

/// Writes what is not there yet below `root`. With `whole`, these are all files there should be: what an earlier write left
/// and this one does not have is removed.
pub(crate) fn write(root: &Path, artifacts: &[Artifact], whole: bool) -> anyhow::Result<Done> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = artifacts.len().div_ceil(workers).max(1);
    let written = thread::scope(|scope| {
        let hands: Vec<_> = artifacts
            .chunks(share)
            .map(|part| {
                scope.spawn(|| part.iter().map(|artifact| put(root, artifact)).sum::<anyhow::Result<usize>>())
            })
            .collect();
        hands
            .into_iter()
            .map(|hand| hand.join().map_err(|_| anyhow!("a writer failed"))?)
            .sum::<anyhow::Result<usize>>()
    })?;
    let removed = if whole { replace_manifest(root, artifacts)? } else { 0 };
    Ok(Done { total: artifacts.len(), written, removed })
}

/// Writes one file, unless it is there, and says how many that were.
fn put(root: &Path, artifact: &Artifact) -> anyhow::Result<usize> {
    let path = root.join(&artifact.path);
    if artifact.is_there(&path) {
        return Ok(0);
    }
    let folder = path.parent().unwrap_or(root);
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    disk::refresh(&path, &artifact.contents, artifact.mode())?;
    Ok(1)
}

/// Removes what the old list has and the new one has not, writes the new one, and says how many files went.
fn replace_manifest(root: &Path, artifacts: &[Artifact]) -> anyhow::Result<usize> {
    let kept: BTreeSet<&Path> = artifacts.iter().map(|artifact| artifact.path.as_path()).collect();
    let mut removed = 0;
    for path in listed(&root.join(MANIFEST)).iter().filter(|path| !kept.contains(path.as_path())) {
        if fs::remove_file(root.join(path)).is_ok() {
            removed += 1;
        }
        // Folders that still hold something stay.
        let mut folder = path.parent();
        while let Some(empty) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            if fs::remove_dir(root.join(empty)).is_err() {
                break;
            }
            folder = empty.parent();
        }
    }
    let mut files: Vec<&Artifact> = artifacts.iter().collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let files: Vec<Value> = files
        .into_iter()
        .map(|file| json!({"path": file.path, "sha256": sha256(&file.contents), "private": file.private}))
        .collect();
    let text = format!("{:#}\n", json!({"files": files}));
    put(root, &Artifact::public(MANIFEST, text))?;
    Ok(removed)
}

/// The files of an old list, as far as they are below its folder.
fn listed(manifest: &Path) -> Vec<PathBuf> {
    let Ok(text) = fs::read_to_string(manifest) else { return Vec::new() };
    let Ok(value) = serde_json::from_str::<Value>(&text) else { return Vec::new() };
    let files = value["files"].as_array().into_iter().flatten();
    let paths = files.filter_map(|file| file["path"].as_str()).map(PathBuf::from);
    paths.filter(|path| path.components().all(|part| matches!(part, Component::Normal(_)))).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn what_did_not_change_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let artifacts =
            |text: &str| [Artifact::private("nodes/a/machine.yaml", text), Artifact::public("b", "b")];
        let inode = || fs::metadata(folder.path().join("b")).unwrap().ino();
        let written = |text: &str| write(folder.path(), &artifacts(text), true).unwrap().written;

        assert_eq!(written("one"), 2);
        let before = inode();
        assert_eq!(written("one"), 0);
        assert_eq!(written("two"), 1);

        assert_eq!(inode(), before);
        let machine = folder.path().join("nodes/a/machine.yaml");
        assert_eq!(fs::metadata(&machine).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read(&machine).unwrap(), b"two");
    }

    #[test]
    fn what_no_longer_belongs_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let of = |node: &str| Artifact::public(format!("nodes/{node}/machine.yaml"), "x");
        write(folder.path(), &[of("a"), of("b")], true).unwrap();
        fs::write(path("nodes/b/mine.txt"), "mine").unwrap();
        write(folder.path(), &[of("c")], false).unwrap();

        let done = write(folder.path(), &[of("c")], true).unwrap();

        assert_eq!(done.removed, 2);
        assert!(!path("nodes/a").exists() && !path("nodes/b/machine.yaml").exists());
        assert!(path("nodes/b/mine.txt").exists() && path("nodes/c/machine.yaml").exists());
    }

    #[test]
    fn a_list_that_leads_out_of_the_folder_removes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        fs::write(&outside, "x").unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::write(root.join(MANIFEST), r#"{"files": [{"path": "../outside"}, {"path": 7}]}"#).unwrap();

        write(&root, &[], true).unwrap();

        assert!(outside.exists());
    }
}
