//! Files that are replaced in one step: a reader sees the old contents or the new, never half of either.
//!
//! [`replace`], [`replace_by`] and [`create`] write one file and wait for the disk. A [`StagedFile`] gives the time between writing and
//! replacing to its user, a [`StagingFolder`] does the same for many files or a folder, and [`replace_with`] is for
//! files that another program creates at a path, such as a socket.
//!
//! A symbolic link at the path is replaced itself; its target is unchanged.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use nix::unistd::linkat;
use tempfile::{Builder, TempPath};

/// The prefix of temporary names.
const PREFIX: &str = ".ichor-";

/// The initial mode of files: for their owner only.
const PRIVATE: u32 = 0o600;

/// A path could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct ReplaceError {
    /// The path that was to be replaced.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl ReplaceError {
    fn new(path: &Path, source: io::Error) -> Self {
        Self { path: path.to_owned(), source }
    }

    /// For `map_err`: adds `path` to an error.
    fn at(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |error| Self::new(path, error)
    }
}

/// Replaces the file at `path`, with this mode. When it returns, the contents are on the disk.
pub fn replace(path: &Path, mode: u32, contents: &[u8]) -> Result<(), ReplaceError> {
    replace_by(path, mode, |file| file.write_all(contents))
}

/// Replaces the file at `path` as [`replace`] does, with the output of `fill`.
pub fn replace_by(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), ReplaceError> {
    write_staged(path, mode, fill)?.place()
}

/// Creates the file at `path` as [`replace`] does, and fails if it exists.
pub fn create(path: &Path, mode: u32, contents: &[u8]) -> Result<(), ReplaceError> {
    write_staged(path, mode, |file| file.write_all(contents))?.place_new()
}

fn write_staged(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<StagedFile, ReplaceError> {
    let mut staged = StagedFile::beside(path)?;
    fill(staged.file()).map_err(ReplaceError::at(path))?;
    staged.set_mode(mode)?;
    staged.sync()?;
    Ok(staged)
}

/// Replaces `path` with the file that `make` creates at `path` plus `ending`. A leftover of a killed process there is removed.
pub fn replace_with<T>(
    path: &Path,
    ending: &str,
    make: impl FnOnce(&Path) -> io::Result<T>,
) -> Result<T, ReplaceError> {
    let attempt = || {
        let beside = with_ending(path, ending);
        remove_if_exists(&beside)?;
        let name = TempPath::try_from_path(beside)?;
        let made = make(&name)?;
        name.persist(path)?;
        Ok(made)
    };
    attempt().map_err(ReplaceError::at(path))
}

/// Syncs `file` to disk and moves it from its temporary name to `path`: for a file that several processes keep
/// using.
pub fn place_file(file: &File, from: &Path, path: &Path) -> Result<(), ReplaceError> {
    let attempt = || {
        file.sync_all()?;
        fs::rename(from, path)
    };
    attempt().map_err(ReplaceError::at(path))
}

/// Creates a file that only its owner can read, replacing an existing one. A symbolic link is replaced, not followed.
pub fn create_fresh(path: &Path) -> io::Result<File> {
    remove_if_exists(path)?;
    create_private(path)
}

fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(PRIVATE).open(path)
}

/// A file that is not at its path yet: for its owner only until it gets another mode. Dropping it before it is placed removes it.
#[derive(Debug)]
pub struct StagedFile {
    path: PathBuf,
    file: File,
    /// Its temporary name; none if the file system supports unnamed files.
    name: Option<TempPath>,
}

impl StagedFile {
    /// A file beside `path`, under a name that no other file has.
    pub fn beside(path: &Path) -> Result<Self, ReplaceError> {
        let (file, name) = create_unique(folder_of(path), create_private).map_err(ReplaceError::at(path))?;
        Ok(Self { path: path.to_owned(), file, name: Some(name) })
    }

    /// A file beside `path`, named `path` plus `ending`. A leftover of a killed process under that name is replaced.
    pub fn beside_as(path: &Path, ending: &str) -> Result<Self, ReplaceError> {
        let attempt = || {
            let beside = with_ending(path, ending);
            let file = create_fresh(&beside)?;
            Ok(Self { path: path.to_owned(), file, name: Some(TempPath::try_from_path(beside)?) })
        };
        attempt().map_err(ReplaceError::at(path))
    }

    /// A file without a name, which is gone with the process, however that ends. The folder of `path` need not be there: it is made
    /// when the file is placed.
    pub fn unnamed(path: &Path) -> Result<Self, ReplaceError> {
        let folder = nearest_folder(path);
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(OFlag::O_TMPFILE.bits()).mode(PRIVATE);
        let (file, name) = match options.open(folder) {
            Ok(file) => (file, None),
            // Network file systems and some others have no files without a name.
            Err(error) if matches!(error.raw_os_error(), Some(code) if is_unsupported(code)) => {
                let (file, name) = create_unique(folder, create_private).map_err(ReplaceError::at(path))?;
                (file, Some(name))
            }
            Err(error) => return Err(ReplaceError::new(path, error)),
        };
        Ok(Self { path: path.to_owned(), file, name })
    }

    /// Its target path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, to be written and read.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives it another mode.
    pub fn set_mode(&self, mode: u32) -> Result<(), ReplaceError> {
        if mode == PRIVATE {
            return Ok(());
        }
        self.file.set_permissions(Permissions::from_mode(mode)).map_err(ReplaceError::at(&self.path))
    }

    /// Waits until the contents are on the disk.
    pub fn sync(&self) -> Result<(), ReplaceError> {
        self.file.sync_all().map_err(ReplaceError::at(&self.path))
    }

    /// Moves it to its path, replacing an existing file.
    pub fn place(self) -> Result<(), ReplaceError> {
        let Self { path, file, name } = self;
        let attempt = || {
            fs::create_dir_all(folder_of(&path))?;
            let Some(name) = name else { return replace_by_link(&file, &path) };
            Ok(name.persist(&path)?)
        };
        attempt().map_err(ReplaceError::at(&path))
    }

    /// Moves it to its path, and fails if a file exists there.
    fn place_new(self) -> Result<(), ReplaceError> {
        let Self { path, file, name } = self;
        let attempt = || {
            let Some(name) = name else { return Ok(link(&file, &path)?) };
            Ok(name.persist_noclobber(&path)?)
        };
        attempt().map_err(ReplaceError::at(&path))
    }
}

/// Gives a file without a name that of `path`.
fn replace_by_link(file: &File, path: &Path) -> io::Result<()> {
    match link(file, path) {
        Err(Errno::EEXIST) => {}
        linked => return Ok(linked?),
    }
    // A link never replaces anything, so the file needs a name that can be moved.
    let beside = with_ending(path, &format!(".{}", process::id()));
    link(file, &beside)?;
    Ok(TempPath::try_from_path(beside)?.persist(path)?)
}

fn link(file: &File, path: &Path) -> nix::Result<()> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    linkat(AT_FDCWD, unnamed.as_str(), AT_FDCWD, path, AtFlags::AT_SYMLINK_FOLLOW)
}

/// Whether an error means that the file system has no unnamed files.
fn is_unsupported(code: i32) -> bool {
    [Errno::EOPNOTSUPP, Errno::EISDIR, Errno::EINVAL].iter().any(|known| *known as i32 == code)
}

/// A folder in which files and folders are created before they are moved to their paths, on the same file system. It exists as
/// long as this value.
#[derive(Debug)]
pub struct StagingFolder {
    folder: PathBuf,
}

impl StagingFolder {
    /// The staging folder of this name. A leftover of a killed process in it is removed: hold a lock.
    pub fn at(folder: &Path) -> Result<Self, ReplaceError> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(ReplaceError::new(folder, error)),
            _ => Ok(Self { folder: folder.to_owned() }),
        }
    }

    /// A staging folder beside `path`, under a unique name.
    pub fn beside(path: &Path) -> Result<Self, ReplaceError> {
        let make = || {
            let ((), name) =
                create_unique(folder_of(path), |name| DirBuilder::new().mode(0o700).create(name))?;
            Ok(name.keep()?)
        };
        Ok(Self { folder: make().map_err(ReplaceError::at(path))? })
    }

    /// A folder in it, made by this.
    pub fn make(&self, name: &str) -> Result<PathBuf, ReplaceError> {
        let path = self.folder.join(name);
        fs::create_dir_all(&path).map_err(ReplaceError::at(&path))?;
        Ok(path)
    }

    /// Writes the contents for `path` under `name`. It does not wait for the disk.
    pub fn write(&self, name: &str, path: &Path, mode: u32, contents: &[u8]) -> Result<(), ReplaceError> {
        let staged = self.folder.join(name);
        let open = || OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&staged);
        let attempt = || {
            let mut file = match open() {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    fs::create_dir_all(&self.folder)?;
                    open()?
                }
                opened => opened?,
            };
            file.write_all(contents)?;
            if mode == PRIVATE { Ok(()) } else { file.set_permissions(Permissions::from_mode(mode)) }
        };
        attempt().map_err(ReplaceError::at(path))
    }

    /// Moves the entry `name` to `path`, replacing a file or an empty folder there, and creates the folders above it.
    pub fn place(&self, name: &str, path: &Path) -> Result<(), ReplaceError> {
        let staged = self.folder.join(name);
        let attempt = || match fs::rename(&staged, path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::rename(&staged, path)
            }
            placed => placed,
        };
        attempt().map_err(ReplaceError::at(path))
    }

    /// Replaces the folder at `path` with the entry `name`. Between the two renames the path does not exist; if the second
    /// fails, the first is undone.
    pub fn swap(&self, name: &str, path: &Path) -> Result<(), ReplaceError> {
        let old = self.folder.join(format!("{name}.old"));
        let had_one = fs::rename(path, &old).is_ok();
        let placed = fs::rename(self.folder.join(name), path).inspect_err(|_| {
            if had_one {
                let _ = fs::rename(&old, path);
            }
        });
        placed.map_err(ReplaceError::at(path))
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Calls `make` with unique names in a folder until one is free.
fn create_unique<T>(folder: &Path, make: impl FnMut(&Path) -> io::Result<T>) -> io::Result<(T, TempPath)> {
    // Unlike those of files that `tempfile` opens, an error of `make` has no name in it that means nothing to the user.
    Ok(Builder::new().prefix(PREFIX).make_in(folder, make)?.into_parts())
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The folder of `path`, or else the nearest one above it that exists.
fn nearest_folder(path: &Path) -> &Path {
    let folders = path.ancestors().skip(1).map(|it| if it == Path::new("") { Path::new(".") } else { it });
    folders.into_iter().find(|folder| folder.is_dir()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests;
