//! Files that are replaced in one step: a reader sees the old contents or the new, never half of either.
//!
//! [`replace`], [`replace_by`] and [`create`] write one file and wait for the disk. A [`StagedFile`] gives the time between writing and
//! replacing to its user, a [`StagingFolder`] does the same for many files or for a whole folder, and [`replace_with`] is for
//! what another program makes at a path, such as a socket.
//!
//! What is at the path is replaced itself: where that is a symbolic link, the file it leads to stays as it is.

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

/// How names begin that are there only until a file or folder is complete.
const PREFIX: &str = ".ichor-";

/// The mode of files before they get another: for their owner alone.
const PRIVATE: u32 = 0o600;

/// A path could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct ReplaceError {
    /// The path that was to be replaced.
    pub path: PathBuf,
    /// Why it was not.
    pub source: io::Error,
}

impl ReplaceError {
    fn new(path: &Path, source: io::Error) -> Self {
        Self { path: path.to_owned(), source }
    }

    /// For `map_err`: what went wrong at `path`.
    fn at(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |error| Self::new(path, error)
    }
}

/// Replaces the file at `path`, with this mode. When it returns, the contents are on the disk.
pub fn replace(path: &Path, mode: u32, contents: &[u8]) -> Result<(), ReplaceError> {
    replace_by(path, mode, |file| file.write_all(contents))
}

/// Replaces the file at `path` as [`replace`] does, with what `fill` writes.
pub fn replace_by(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), ReplaceError> {
    write_staged(path, mode, fill)?.place()
}

/// Creates the file at `path` as [`replace`] does, and fails where something is there already.
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

/// Replaces `path` with what `make` makes at another path: the same with `ending`. What a process that was killed left there is removed.
pub fn replace_with<T>(
    path: &Path,
    ending: &str,
    make: impl FnOnce(&Path) -> io::Result<T>,
) -> Result<T, ReplaceError> {
    let attempt = || {
        let beside = with_ending(path, ending);
        remove_if_there(&beside)?;
        let name = TempPath::try_from_path(beside)?;
        let made = make(&name)?;
        name.persist(path)?;
        Ok(made)
    };
    attempt().map_err(ReplaceError::at(path))
}

/// Moves `file` from the name it was written under to `path`, once its contents are on the disk: for a file that more than one process goes on
/// with.
pub fn place_file(file: &File, from: &Path, path: &Path) -> Result<(), ReplaceError> {
    let attempt = || {
        file.sync_all()?;
        fs::rename(from, path)
    };
    attempt().map_err(ReplaceError::at(path))
}

/// A new file for its owner alone, in place of what is there: of a symbolic link too, and not of the file it leads to.
pub fn create_fresh(path: &Path) -> io::Result<File> {
    remove_if_there(path)?;
    create_private(path)
}

fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(PRIVATE).open(path)
}

/// A file that is not at its path yet: for its owner alone until it gets another mode. Dropped before it is placed, it leaves nothing.
#[derive(Debug)]
pub struct StagedFile {
    path: PathBuf,
    file: File,
    /// The name it has until then; none where the file system has files without a name.
    name: Option<TempPath>,
}

impl StagedFile {
    /// A file beside `path`, under a name that no other file has.
    pub fn beside(path: &Path) -> Result<Self, ReplaceError> {
        let (file, name) = made_in(folder_of(path), create_private).map_err(ReplaceError::at(path))?;
        Ok(Self { path: path.to_owned(), file, name: Some(name) })
    }

    /// A file beside `path`, whose name is the same with `ending`. What a process that was killed left under that name is replaced.
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
                let (file, name) = made_in(folder, create_private).map_err(ReplaceError::at(path))?;
                (file, Some(name))
            }
            Err(error) => return Err(ReplaceError::new(path, error)),
        };
        Ok(Self { path: path.to_owned(), file, name })
    }

    /// Where it will be.
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

    /// Moves it to its path, in place of what is there.
    pub fn place(self) -> Result<(), ReplaceError> {
        let Self { path, file, name } = self;
        let attempt = || {
            fs::create_dir_all(folder_of(&path))?;
            let Some(name) = name else { return replace_by_link(&file, &path) };
            Ok(name.persist(&path)?)
        };
        attempt().map_err(ReplaceError::at(&path))
    }

    /// Moves it to its path, and fails where something is there.
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

/// Whether an error says that there are no files without a name here.
fn is_unsupported(code: i32) -> bool {
    [Errno::EOPNOTSUPP, Errno::EISDIR, Errno::EINVAL].iter().any(|known| *known as i32 == code)
}

/// A folder where files and folders are made before they are moved to their places, on the same file system. It is there from the first
/// on, and gone with this.
#[derive(Debug)]
pub struct StagingFolder {
    folder: PathBuf,
}

impl StagingFolder {
    /// The staging folder of this name. What a process that was killed left in it is removed: hold a lock.
    pub fn at(folder: &Path) -> Result<Self, ReplaceError> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(ReplaceError::new(folder, error)),
            _ => Ok(Self { folder: folder.to_owned() }),
        }
    }

    /// A staging folder beside `path`, under a name that nothing else has.
    pub fn beside(path: &Path) -> Result<Self, ReplaceError> {
        let make = || {
            let ((), name) = made_in(folder_of(path), |name| DirBuilder::new().mode(0o700).create(name))?;
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

    /// Writes what is to be at `path` under a name. It does not wait for the disk.
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

    /// Moves what has this name to `path`, in place of a file or an empty folder there, and makes the folders above it.
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

    /// Moves what has this name to `path`, and the folder that is there away. Between the two steps nothing is there; where the second
    /// fails, the first is taken back.
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

/// What `make` makes in a folder, under a name that nothing else has.
fn made_in<T>(folder: &Path, make: impl FnMut(&Path) -> io::Result<T>) -> io::Result<(T, TempPath)> {
    // Unlike those of files that `tempfile` opens, an error of `make` has no name in it that means nothing to the user.
    Ok(Builder::new().prefix(PREFIX).make_in(folder, make)?.into_parts())
}

fn remove_if_there(path: &Path) -> io::Result<()> {
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

/// The folder of `path`, or else the nearest above it that is there.
fn nearest_folder(path: &Path) -> &Path {
    let folders = path.ancestors().skip(1).map(|it| if it == Path::new("") { Path::new(".") } else { it });
    folders.into_iter().find(|folder| folder.is_dir()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests;
