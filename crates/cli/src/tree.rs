//! A folder of files that ichor makes: written in one step each, and left alone where nothing changed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context as _, anyhow};

use crate::disk;

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

/// Writes what is not there yet below `root`, and says how many files that were.
pub(crate) fn write(root: &Path, artifacts: &[Artifact]) -> anyhow::Result<usize> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = artifacts.len().div_ceil(workers).max(1);
    thread::scope(|scope| {
        let hands: Vec<_> = artifacts
            .chunks(share)
            .map(|part| {
                scope.spawn(|| part.iter().map(|artifact| put(root, artifact)).sum::<anyhow::Result<usize>>())
            })
            .collect();
        hands.into_iter().map(|hand| hand.join().map_err(|_| anyhow!("a writer failed"))?).sum()
    })
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

        assert_eq!(write(folder.path(), &artifacts("one")).unwrap(), 2);
        let before = inode();
        assert_eq!(write(folder.path(), &artifacts("one")).unwrap(), 0);
        assert_eq!(write(folder.path(), &artifacts("two")).unwrap(), 1);

        assert_eq!(inode(), before);
        let machine = folder.path().join("nodes/a/machine.yaml");
        assert_eq!(fs::metadata(&machine).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read(&machine).unwrap(), b"two");
    }
}
