//! A folder of files that ichor makes: written in one step each, left alone where nothing changed, and removed when they no
//! longer belong there.
//!
//! [`Manifest`] lists what was written. Nothing else is ever overwritten or removed. Before the first file is written, the list
//! has every file of the old build and of the new: whenever a build is interrupted, the next one knows what is whose.

mod manifest;

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ichor_core::render::artifact::Artifact;
use ichor_system::file::{ReplaceError, StagingFolder};
use ichor_system::lock::LockFile;

use self::manifest::{Entry, Looked, Stamp, TooNew};
use crate::disk::reason;
use crate::progress::Progress;
use crate::work::shared_out;

pub(crate) use self::manifest::{Inputs, Manifest};

/// Where files are made before they are moved to their places.
const DRAFTS: &str = ".ichor-new";

/// Why a folder is not as it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    #[error("cannot make the folder {}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("cannot write to {}", folder.display())]
    Manifest { folder: PathBuf, source: TooNew },
    #[error("{} may be half new: mend this, and try again", folder.display())]
    Interrupted { folder: PathBuf, source: Box<TreeError> },
    #[error("cannot open {}", folder.display())]
    Open { folder: PathBuf, source: io::Error },
    #[error("another run is writing to {}: wait for it to end", .0.display())]
    Busy(PathBuf),
    #[error("cannot lock {}: {}", folder.display(), reason(error))]
    Lock { folder: PathBuf, error: io::Error },
    #[error(
        "{first}{} would be overwritten, and {} in {} does not list it as ichor's: move it away",
        others(*more), manifest::NAME, folder.display()
    )]
    Stranger {
        first: String,
        /// How many others there are.
        more: usize,
        folder: PathBuf,
    },
    #[error("cannot write {}: {}", path.display(), reason(error))]
    File { path: PathBuf, error: io::Error },
}

fn others(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

/// A folder of files that ichor makes.
pub(crate) struct Tree {
    root: PathBuf,
    manifest: Manifest,
}

/// What some artifacts are all there is of.
pub(crate) enum Scope {
    /// The whole tree.
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

/// A file that is not what a build would give.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) what: &'static str,
}

/// A file of a build beside what is in its place.
struct Compared {
    entry: Entry,
    found: Found,
}

/// What is in the place of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Same,
    Nothing,
    OtherContents,
    OtherMode,
}

impl Tree {
    /// The tree at `root`, which need not be there.
    pub(crate) fn open(root: PathBuf) -> Self {
        // A list that cannot be read is reported when somebody writes here.
        let manifest = Manifest::read(&root).unwrap_or_default();
        Self { root, manifest }
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// What there is to do, if all files are as an earlier build left them: nothing. Files are not read unless they were
    /// changed after that build.
    pub(crate) fn untouched(&self) -> Option<Done> {
        let path = self.root.join(manifest::NAME);
        let listed = Stamp::of(&fs::metadata(&path).ok()?);
        let files = self.manifest.files();
        let looks = shared_out(files, &Progress::none(), |entry| entry.is_there(&self.root, listed));
        let looks = looks.into_iter().collect::<Option<Vec<_>>>()?;
        if looks.contains(&Looked::Inside) {
            restamp(&path);
        }
        Some(Done { total: files.len(), ..Done::default() })
    }

    /// Everything in which the tree is not what a build would give, in the order of the paths.
    pub(crate) fn compare(
        &self,
        artifacts: &[Artifact],
        scope: &Scope,
        inputs: Inputs,
    ) -> Result<Vec<Difference>, TreeError> {
        let compared = self.compared(artifacts, None)?;
        let word = |found: Found| match found {
            Found::Same => None,
            Found::Nothing => Some("missing"),
            Found::OtherContents => Some("differs"),
            Found::OtherMode => Some("has another mode"),
        };
        let mut differences: Vec<Difference> = compared
            .iter()
            .filter_map(|one| Some(Difference { path: one.entry.path.clone(), what: word(one.found)? }))
            .collect();
        let surplus = self.surplus(&compared, scope).into_iter().filter(|path| self.root.join(path).exists());
        differences.extend(surplus.map(|path| Difference { path, what: "no longer belongs here" }));
        if matches!(scope, Scope::Whole) {
            let list = Manifest::new(Some(inputs), compared.into_iter().map(|one| one.entry).collect());
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

    /// Writes what is not there yet, and removes what an earlier build left in `scope` and this one does not have. The
    /// artifacts were made from `inputs`, if that is known.
    pub(crate) fn write(
        mut self,
        artifacts: &[Artifact],
        scope: &Scope,
        inputs: Option<Inputs>,
    ) -> Result<Done, TreeError> {
        let folder = || self.root.clone();
        fs::create_dir_all(&self.root).map_err(|source| TreeError::Folder { folder: folder(), source })?;
        let _lock = self.lock()?;
        // Somebody may have written since.
        let manifest = Manifest::read(&self.root);
        self.manifest = manifest.map_err(|source| TreeError::Manifest { folder: folder(), source })?;
        let drafts = StagingFolder::at(&self.root.join(DRAFTS))?;
        let compared = self.compared(artifacts, Some(&drafts))?;
        self.refuse_strangers(&compared)?;
        let total = artifacts.len();
        self.replace(&compared, &drafts, scope, inputs)
            .map(|(written, removed)| Done { total, written, removed })
            .map_err(|error| TreeError::Interrupted { folder: self.root.clone(), source: Box::new(error) })
    }

    /// Brings the tree from what it is to what it should be; says how many files were written, and how many went.
    fn replace(
        &self,
        compared: &[Compared],
        drafts: &StagingFolder,
        scope: &Scope,
        inputs: Option<Inputs>,
    ) -> Result<(usize, usize), TreeError> {
        let surplus = self.surplus(compared, scope);
        let pending: Vec<(usize, &Compared)> =
            compared.iter().enumerate().filter(|(_, one)| one.found != Found::Same).collect();
        let kept: Vec<Entry> =
            self.manifest.files().iter().filter(|entry| !scope.has(&entry.path)).cloned().collect();
        let new = || compared.iter().map(|one| one.entry.clone());
        if !pending.is_empty() || !surplus.is_empty() {
            let known = self.manifest.by_path();
            let old = surplus.iter().filter_map(|path| known.get(path.as_str())).map(|&entry| entry.clone());
            self.list(&Manifest::new(None, kept.iter().cloned().chain(new()).chain(old).collect()), drafts)?;
        }
        self.place(&pending, drafts)?;
        let removed = surplus.iter().filter(|path| self.remove(path)).count();
        let inputs = match scope {
            Scope::Whole => inputs,
            Scope::Folders(_) => inputs.filter(|inputs| self.manifest.inputs.as_ref() == Some(inputs)),
        };
        self.list(&Manifest::new(inputs, kept.into_iter().chain(new()).collect()), drafts)?;
        Ok((pending.len(), removed))
    }

    /// Keeps others from writing here at the same time.
    fn lock(&self) -> Result<LockFile, TreeError> {
        let folder = || self.root.clone();
        let opened = File::open(&self.root).map_err(|source| TreeError::Open { folder: folder(), source })?;
        match LockFile::try_file(opened, &self.root) {
            Ok(Some(lock)) => Ok(lock),
            Ok(None) => Err(TreeError::Busy(folder())),
            Err(error) => Err(TreeError::Lock { folder: folder(), error: error.source }),
        }
    }

    /// Compares artifacts with what is in their places. The bytes of an artifact are made here alone, and are not kept: what has
    /// to be written goes to `drafts`, under its number.
    fn compared(
        &self,
        artifacts: &[Artifact],
        drafts: Option<&StagingFolder>,
    ) -> Result<Vec<Compared>, TreeError> {
        let progress = Progress::count("comparing", artifacts.len());
        let numbered: Vec<_> = artifacts.iter().enumerate().collect();
        let compare = |&(nth, artifact): &(usize, &Artifact)| {
            let bytes = artifact.contents.bytes();
            let entry = Entry::of(artifact, &bytes);
            let found = self.found(&entry, &bytes);
            if let Some(drafts) = drafts.filter(|_| found != Found::Same) {
                let path = self.root.join(&entry.path);
                drafts.write(&nth.to_string(), &path, entry.mode(), &bytes)?;
            }
            Ok(Compared { entry, found })
        };
        shared_out(&numbered, &progress, compare).into_iter().collect()
    }

    fn found(&self, entry: &Entry, bytes: &[u8]) -> Found {
        let path = self.root.join(&entry.path);
        let Ok(file) = fs::symlink_metadata(&path) else { return Found::Nothing };
        if !file.is_file()
            || file.len() != bytes.len() as u64
            || !fs::read(&path).is_ok_and(|read| read == bytes)
        {
            Found::OtherContents
        } else if entry.fits(&file) {
            Found::Same
        } else {
            Found::OtherMode
        }
    }

    /// Refuses to overwrite what ichor did not write.
    fn refuse_strangers(&self, compared: &[Compared]) -> Result<(), TreeError> {
        let known = self.manifest.by_path();
        let is_strange = |one: &&Compared| {
            matches!(one.found, Found::OtherContents | Found::OtherMode)
                && !known.contains_key(one.entry.path.as_str())
        };
        let strangers: Vec<String> = compared
            .iter()
            .filter(is_strange)
            .map(|one| self.root.join(&one.entry.path).display().to_string())
            .collect();
        match strangers.as_slice() {
            [] => Ok(()),
            [first, rest @ ..] => {
                let (first, more) = (first.clone(), rest.len());
                Err(TreeError::Stranger { first, more, folder: self.root.clone() })
            }
        }
    }

    /// The files of an earlier build in `scope` that are not among the new ones.
    fn surplus(&self, compared: &[Compared], scope: &Scope) -> Vec<String> {
        let new: HashSet<&str> = compared.iter().map(|one| one.entry.path.as_str()).collect();
        let old = self.manifest.files().iter().map(|entry| &entry.path);
        old.filter(|path| scope.has(path) && !new.contains(path.as_str())).cloned().collect()
    }

    /// Moves drafts to their places, each in one step.
    fn place(&self, pending: &[(usize, &Compared)], drafts: &StagingFolder) -> Result<(), TreeError> {
        let progress = Progress::count("writing", pending.len());
        let place = |(nth, one): &(usize, &Compared)| {
            Ok(drafts.place(&nth.to_string(), &self.root.join(&one.entry.path))?)
        };
        shared_out(pending, &progress, place).into_iter().collect()
    }

    /// Removes a file and the folders that are empty without it, and says whether it was there.
    fn remove(&self, path: &str) -> bool {
        let there = fs::remove_file(self.root.join(path)).is_ok();
        // Folders that still hold something stay.
        let mut folder = Path::new(path).parent();
        while let Some(empty) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            if fs::remove_dir(self.root.join(empty)).is_err() {
                break;
            }
            folder = empty.parent();
        }
        there
    }

    /// Writes the list. One that is there already keeps its place, and is from now on later than every file.
    fn list(&self, manifest: &Manifest, drafts: &StagingFolder) -> Result<(), TreeError> {
        let path = self.root.join(manifest::NAME);
        let text = manifest.text();
        if fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            restamp(&path);
            return Ok(());
        }
        // Nothing waits for the disk: what a power cut takes has another length than the list says, and is written again.
        drafts.write(LIST, &path, 0o644, text.as_bytes())?;
        Ok(drafts.place(LIST, &path)?)
    }
}

/// The name of the list among the drafts; those of files are their numbers.
const LIST: &str = "list";

impl From<ReplaceError> for TreeError {
    fn from(ReplaceError { path, source }: ReplaceError) -> Self {
        Self::File { path, error: source }
    }
}

/// Gives a file a new stamp; when it was last written stays. Where that is not allowed, files are read once more next time.
fn restamp(path: &Path) {
    if let Ok(file) = fs::metadata(path) {
        let _ = fs::set_permissions(path, file.permissions());
    }
}

#[cfg(test)]
mod tests;
