//! An output folder: files are written atomically, left alone if unchanged, and removed when they are no longer needed.
//!
//! [`Manifest`] lists the files that ichor wrote. No other file is overwritten or removed. Before the first file is written, the
//! manifest lists every file of the old build and of the new: after an interrupted build, the next one knows which files are ichor's.

mod manifest;

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ichor_core::render::artifact::Artifact;
use ichor_system::file::{ReplaceError, StagingFolder};
use ichor_system::lock::LockFile;

use self::manifest::{ChangeTime, EntryMatch, ManifestEntry, ManifestTooNew};
use crate::disk::io_reason;
use crate::parallel::map_parallel;
use crate::progress::Progress;

pub(crate) use self::manifest::{BuildInputs, Manifest};

/// The staging folder, from which files are renamed to their final paths.
const DRAFTS: &str = ".ichor-new";

/// Why an output folder cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    #[error("cannot create the folder {}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("cannot write to {}", folder.display())]
    Manifest { folder: PathBuf, source: ManifestTooNew },
    #[error("{} is partly updated; fix the cause and run the command again", folder.display())]
    Interrupted { folder: PathBuf, source: Box<TreeError> },
    #[error("cannot open {}", folder.display())]
    Open { folder: PathBuf, source: io::Error },
    #[error("another run is writing to {}; wait until it ends", .0.display())]
    Busy(PathBuf),
    #[error("cannot lock {}: {}", folder.display(), io_reason(error))]
    Lock { folder: PathBuf, error: io::Error },
    #[error(
        "refusing to overwrite {first}{}: {} in {} does not list it; move it away",
        others(*more), manifest::NAME, folder.display()
    )]
    ForeignFile {
        first: String,
        /// Number of further files.
        more: usize,
        folder: PathBuf,
    },
    #[error("cannot write {}: {}", path.display(), io_reason(error))]
    File { path: PathBuf, error: io::Error },
}

fn others(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

/// An output folder and its manifest.
pub(crate) struct Tree {
    root: PathBuf,
    manifest: Manifest,
}

/// The part of the output folder that a write replaces.
pub(crate) enum Scope {
    /// The complete folder.
    Whole,
    /// These folders.
    Folders(Vec<String>),
}

impl Scope {
    fn has(&self, path: &str) -> bool {
        match self {
            Self::Whole => true,
            Self::Folders(folders) => folders.iter().any(|folder| path.starts_with(folder.as_str())),
        }
    }
}

/// The number of files that a write changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteSummary {
    total: usize,
    written: usize,
    removed: usize,
}

impl fmt::Display for WriteSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.written, self.total) {
            (0, total) => write!(f, "nothing to write: {total} files are up to date")?,
            (written, total) if written == total => write!(f, "{total} files written")?,
            (written, total) => write!(f, "{written} of {total} files written, the rest is unchanged")?,
        }
        match self.removed {
            0 => Ok(()),
            removed => write!(f, "; {removed} of an earlier build removed"),
        }
    }
}

/// A file that differs from a new build.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) what: &'static str,
}

/// A file of a build and the state of its path.
struct ComparedFile {
    entry: ManifestEntry,
    state: FileState,
}

/// The state of an artifact's path on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileState {
    Same,
    Nothing,
    OtherContents,
    OtherMode,
}

impl Tree {
    /// Opens the folder at `root`, which may not exist yet.
    pub(crate) fn open(root: PathBuf) -> Self {
        // A manifest that cannot be read is reported by `write`.
        let manifest = Manifest::read(&root).unwrap_or_default();
        Self { root, manifest }
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The summary of an empty write if no file has changed since the last build. Reads only files that were changed after
    /// that build.
    pub(crate) fn unchanged(&self) -> Option<WriteSummary> {
        let path = self.root.join(manifest::NAME);
        let listed = ChangeTime::from_metadata(&fs::metadata(&path).ok()?);
        let files = self.manifest.files();
        let matches = map_parallel(files, &Progress::none(), |entry| entry.compare(&self.root, listed));
        let matches = matches.into_iter().collect::<Option<Vec<_>>>()?;
        if matches.contains(&EntryMatch::ByContents) {
            touch(&path);
        }
        Some(WriteSummary { total: files.len(), ..WriteSummary::default() })
    }

    /// The files that differ from a new build, sorted by path.
    pub(crate) fn compare(
        &self,
        artifacts: &[Artifact],
        scope: &Scope,
        inputs: BuildInputs,
    ) -> Result<Vec<Difference>, TreeError> {
        let compared = self.compared(artifacts, None)?;
        let word = |state: FileState| match state {
            FileState::Same => None,
            FileState::Nothing => Some("missing"),
            FileState::OtherContents => Some("differs"),
            FileState::OtherMode => Some("has another mode"),
        };
        let mut differences: Vec<Difference> = compared
            .iter()
            .filter_map(|file| Some(Difference { path: file.entry.path.clone(), what: word(file.state)? }))
            .collect();
        let surplus = self.surplus(&compared, scope).into_iter().filter(|path| self.root.join(path).exists());
        differences.extend(surplus.map(|path| Difference { path, what: "no longer needed" }));
        if matches!(scope, Scope::Whole) {
            let list = Manifest::new(Some(inputs), compared.into_iter().map(|file| file.entry).collect());
            let what = match fs::read(self.root.join(manifest::NAME)) {
                Ok(there) if there == list.text().as_bytes() => None,
                Ok(_) => Some("differs"),
                Err(_) => Some("missing"),
            };
            differences.extend(what.map(|what| Difference { path: manifest::NAME.to_owned(), what }));
        }
        differences.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(differences)
    }

    /// Writes new and changed artifacts, and removes files of an earlier build in `scope` that this one does not have. `inputs` are
    /// those of the artifacts, if known.
    pub(crate) fn write(
        mut self,
        artifacts: &[Artifact],
        scope: &Scope,
        inputs: Option<BuildInputs>,
    ) -> Result<WriteSummary, TreeError> {
        let folder = || self.root.clone();
        fs::create_dir_all(&self.root).map_err(|source| TreeError::Folder { folder: folder(), source })?;
        let _lock = self.lock()?;
        // Another run may have written since `open`.
        let manifest = Manifest::read(&self.root);
        self.manifest = manifest.map_err(|source| TreeError::Manifest { folder: folder(), source })?;
        let drafts = StagingFolder::at(&self.root.join(DRAFTS))?;
        let compared = self.compared(artifacts, Some(&drafts))?;
        self.refuse_foreign_files(&compared)?;
        let total = artifacts.len();
        self.replace(&compared, &drafts, scope, inputs)
            .map(|(written, removed)| WriteSummary { total, written, removed })
            .map_err(|error| TreeError::Interrupted { folder: self.root.clone(), source: Box::new(error) })
    }

    /// Writes and removes files; returns how many of each.
    fn replace(
        &self,
        compared: &[ComparedFile],
        drafts: &StagingFolder,
        scope: &Scope,
        inputs: Option<BuildInputs>,
    ) -> Result<(usize, usize), TreeError> {
        let surplus = self.surplus(compared, scope);
        let pending: Vec<(usize, &ComparedFile)> =
            compared.iter().enumerate().filter(|(_, file)| file.state != FileState::Same).collect();
        let kept: Vec<ManifestEntry> =
            self.manifest.files().iter().filter(|entry| !scope.has(&entry.path)).cloned().collect();
        let new = || compared.iter().map(|file| file.entry.clone());
        if !pending.is_empty() || !surplus.is_empty() {
            let known = self.manifest.by_path();
            let old = surplus.iter().filter_map(|path| known.get(path.as_str())).map(|&entry| entry.clone());
            self.write_manifest(
                &Manifest::new(None, kept.iter().cloned().chain(new()).chain(old).collect()),
                drafts,
            )?;
        }
        self.place(&pending, drafts)?;
        let removed = surplus.iter().filter(|path| self.remove(path)).count();
        let inputs = match scope {
            Scope::Whole => inputs,
            Scope::Folders(_) => inputs.filter(|inputs| self.manifest.inputs.as_ref() == Some(inputs)),
        };
        self.write_manifest(&Manifest::new(inputs, kept.into_iter().chain(new()).collect()), drafts)?;
        Ok((pending.len(), removed))
    }

    /// Locks the folder against concurrent writes.
    fn lock(&self) -> Result<LockFile, TreeError> {
        let folder = || self.root.clone();
        let opened = File::open(&self.root).map_err(|source| TreeError::Open { folder: folder(), source })?;
        match LockFile::try_file(opened, &self.root) {
            Ok(Some(lock)) => Ok(lock),
            Ok(None) => Err(TreeError::Busy(folder())),
            Err(error) => Err(TreeError::Lock { folder: folder(), error: error.source }),
        }
    }

    /// Compares artifacts with the files on disk. The bytes of an artifact are generated only here and not kept: changed files are
    /// staged in `drafts` under their number.
    fn compared(
        &self,
        artifacts: &[Artifact],
        drafts: Option<&StagingFolder>,
    ) -> Result<Vec<ComparedFile>, TreeError> {
        let progress = Progress::count("comparing", artifacts.len());
        let numbered: Vec<_> = artifacts.iter().enumerate().collect();
        let compare = |&(nth, artifact): &(usize, &Artifact)| {
            let bytes = artifact.contents.bytes();
            let entry = ManifestEntry::new(artifact, &bytes);
            let state = self.file_state(&entry, &bytes);
            if let Some(drafts) = drafts.filter(|_| state != FileState::Same) {
                let path = self.root.join(&entry.path);
                drafts.write(&nth.to_string(), &path, entry.mode(), &bytes)?;
            }
            Ok(ComparedFile { entry, state })
        };
        map_parallel(&numbered, &progress, compare).into_iter().collect()
    }

    fn file_state(&self, entry: &ManifestEntry, bytes: &[u8]) -> FileState {
        let path = self.root.join(&entry.path);
        let Ok(file) = fs::symlink_metadata(&path) else { return FileState::Nothing };
        if !file.is_file()
            || file.len() != bytes.len() as u64
            || !fs::read(&path).is_ok_and(|read| read == bytes)
        {
            FileState::OtherContents
        } else if entry.matches(&file) {
            FileState::Same
        } else {
            FileState::OtherMode
        }
    }

    /// Refuses to overwrite files that ichor did not write.
    fn refuse_foreign_files(&self, compared: &[ComparedFile]) -> Result<(), TreeError> {
        let known = self.manifest.by_path();
        let is_foreign = |file: &&ComparedFile| {
            matches!(file.state, FileState::OtherContents | FileState::OtherMode)
                && !known.contains_key(file.entry.path.as_str())
        };
        let foreign: Vec<String> = compared
            .iter()
            .filter(is_foreign)
            .map(|file| self.root.join(&file.entry.path).display().to_string())
            .collect();
        match foreign.as_slice() {
            [] => Ok(()),
            [first, rest @ ..] => {
                let (first, more) = (first.clone(), rest.len());
                Err(TreeError::ForeignFile { first, more, folder: self.root.clone() })
            }
        }
    }

    /// The files of an earlier build in `scope` that are not among the new ones.
    fn surplus(&self, compared: &[ComparedFile], scope: &Scope) -> Vec<String> {
        let new: HashSet<&str> = compared.iter().map(|file| file.entry.path.as_str()).collect();
        let old = self.manifest.files().iter().map(|entry| &entry.path);
        old.filter(|path| scope.has(path) && !new.contains(path.as_str())).cloned().collect()
    }

    /// Renames staged files to their final paths.
    fn place(&self, pending: &[(usize, &ComparedFile)], drafts: &StagingFolder) -> Result<(), TreeError> {
        let progress = Progress::count("writing", pending.len());
        let place = |(nth, file): &(usize, &ComparedFile)| {
            Ok(drafts.place(&nth.to_string(), &self.root.join(&file.entry.path))?)
        };
        map_parallel(pending, &progress, place).into_iter().collect()
    }

    /// Removes a file and the folders that become empty; returns whether the file existed.
    fn remove(&self, path: &str) -> bool {
        let there = fs::remove_file(self.root.join(path)).is_ok();
        // `remove_dir` keeps folders that are not empty.
        let mut folder = Path::new(path).parent();
        while let Some(empty) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            if fs::remove_dir(self.root.join(empty)).is_err() {
                break;
            }
            folder = empty.parent();
        }
        there
    }

    /// Writes the manifest. An unchanged manifest is not replaced, but gets a change time later than that of every file.
    fn write_manifest(&self, manifest: &Manifest, drafts: &StagingFolder) -> Result<(), TreeError> {
        let path = self.root.join(manifest::NAME);
        let text = manifest.text();
        if fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            touch(&path);
            return Ok(());
        }
        // No fsync: a file truncated by a power failure has another size than the manifest says, and is written again.
        drafts.write(LIST, &path, 0o644, text.as_bytes())?;
        Ok(drafts.place(LIST, &path)?)
    }
}

/// The name of the staged manifest; staged files are named by number.
const LIST: &str = "list";

impl From<ReplaceError> for TreeError {
    fn from(ReplaceError { path, source }: ReplaceError) -> Self {
        Self::File { path, error: source }
    }
}

/// Updates the change time of a file but not its modification time. If that fails, the next run reads the files again.
fn touch(path: &Path) {
    if let Ok(file) = fs::metadata(path) {
        let _ = fs::set_permissions(path, file.permissions());
    }
}

#[cfg(test)]
mod tests;
