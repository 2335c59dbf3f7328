//! Locks between processes: files that one process holds at a time.
//!
//! The kernel frees a lock when the last process that has the file open ends, however it ends. A [`LockFile`] can therefore be given to another
//! process, as its standard input or as a file it inherits.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// A lock could not be tried. That another process holds it is not an error.
#[derive(Debug, thiserror::Error)]
#[error("cannot lock {}", path.display())]
pub struct LockError {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}

/// A lock that excludes other processes until it is dropped.
#[derive(Debug)]
pub struct LockFile {
    file: File,
}

impl LockFile {
    /// Acquires the lock `path`, creating a missing file; none if another process holds it.
    pub fn try_take(path: &Path) -> Result<Option<Self>, LockError> {
        let failed = |source| LockError { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        loop {
            let lock = Self::try_file(options.open(path).map_err(failed)?, path)?;
            // The previous holder may have removed the file: then another process can create and lock a new one.
            match lock {
                Some(lock) if !lock.is_at(path) => {}
                lock => return Ok(lock),
            }
        }
    }

    /// Takes the lock `path` as [`try_take`](Self::try_take) does; a missing file is an error.
    pub fn try_existing(path: &Path) -> Result<Option<Self>, LockError> {
        let file = OpenOptions::new().read(true).open(path);
        Self::try_file(file.map_err(|source| LockError { path: path.to_owned(), source })?, path)
    }

    /// Takes the lock of an open file or folder; `path` is where it is.
    pub fn try_file(file: File, path: &Path) -> Result<Option<Self>, LockError> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(LockError { path: path.to_owned(), source }),
        }
    }

    /// Takes the lock `path` as [`try_take`](Self::try_take) does, and waits for as long as `patience` until it is free.
    pub fn wait(path: &Path, patience: Duration) -> Result<Option<Self>, LockError> {
        let start = Instant::now();
        loop {
            match Self::try_take(path)? {
                None if start.elapsed() < patience => thread::sleep(PAUSE),
                lock => return Ok(lock),
            }
        }
    }

    /// The lock of an open file that another process took and gave to this one.
    pub fn from_inherited(file: File) -> Self {
        Self { file }
    }

    /// Whether a process holds the lock `path`. Probing never keeps another process from probing.
    pub fn is_held(path: &Path) -> bool {
        let file = OpenOptions::new().read(true).open(path);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// The process that was written into the lock `path` as its holder.
    pub fn holder(path: &Path) -> Option<i32> {
        fs::read_to_string(path).ok()?.trim().parse().ok()
    }

    /// Writes into the lock which process is its holder.
    pub fn write_holder(&mut self, pid: impl Display) -> io::Result<()> {
        self.file.rewind()?;
        self.file.set_len(0)?;
        writeln!(self.file, "{pid}")
    }

    /// The file that is locked.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    fn is_at(&self, path: &Path) -> bool {
        let number = |meta: fs::Metadata| (meta.dev(), meta.ino());
        let own = self.file.metadata().map(number);
        own.is_ok_and(|own| fs::metadata(path).is_ok_and(|meta| number(meta) == own))
    }
}

impl AsFd for LockFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl From<LockFile> for Stdio {
    /// Standard input of a process that holds the lock then.
    fn from(lock: LockFile) -> Self {
        lock.file.into()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::{Child, Command};

    use super::*;

    /// Another process that holds a lock, until it is killed.
    fn other_process(path: &Path) -> Child {
        let mut holder = Command::new("flock");
        holder.arg("--no-fork").arg(path).args(["sh", "-c", "echo; exec sleep 60"]);
        let mut holder = holder.stdout(Stdio::piped()).spawn().expect("flock of util-linux runs");
        holder.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        holder
    }

    #[test]
    fn a_lock_excludes_other_processes_until_its_holder_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let mut holder = other_process(&path);

        assert!(LockFile::is_held(&path));
        assert!(LockFile::try_take(&path).unwrap().is_none());
        assert!(LockFile::try_existing(&path).unwrap().is_none());
        holder.kill().unwrap();
        holder.wait().unwrap();

        assert!(!LockFile::is_held(&path));
        let lock = LockFile::try_take(&path).unwrap();
        assert!(lock.is_some());
        let status = Command::new("flock").arg("--nonblock").arg(&path).arg("true").status().unwrap();
        assert_eq!(status.code(), Some(1));
    }

    #[test]
    fn waiting_ends_when_the_lock_is_free_or_at_the_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let mut holder = other_process(&path);
        let start = Instant::now();

        assert!(LockFile::wait(&path, Duration::from_millis(200)).unwrap().is_none());
        assert!(start.elapsed() >= Duration::from_millis(200));
        let killer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            holder.kill().unwrap();
            holder.wait().unwrap();
        });
        assert!(LockFile::wait(&path, Duration::from_mins(1)).unwrap().is_some());
        assert!(start.elapsed() < Duration::from_secs(30));
        killer.join().unwrap();
    }

    #[test]
    fn a_lock_file_is_private_and_contains_the_pid_of_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        fs::write(&path, "123456\n").unwrap();
        assert_eq!(LockFile::holder(&path), Some(123_456));
        fs::remove_file(&path).unwrap();
        let mut lock = LockFile::try_take(&path).unwrap().unwrap();
        assert_eq!(LockFile::holder(&path), None);

        lock.write_holder(123_456).unwrap();
        lock.write_holder(7).unwrap();

        assert_eq!(LockFile::holder(&path), Some(7));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn an_inherited_lock_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = LockFile::try_take(&path).unwrap().unwrap();

        let mut heir = Command::new("sleep").arg("60").stdin(lock).spawn().unwrap();

        assert!(LockFile::try_take(&path).unwrap().is_none());
        heir.kill().unwrap();
        heir.wait().unwrap();
        assert!(LockFile::try_take(&path).unwrap().is_some());
    }

    #[test]
    fn a_removed_lock_file_is_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let old = LockFile::try_take(&path).unwrap().unwrap();
        fs::remove_file(&path).unwrap();

        let new = LockFile::try_take(&path).unwrap().unwrap();

        assert!(!old.is_at(&path) && new.is_at(&path));
        assert!(LockFile::is_held(&path));
    }

    #[test]
    fn a_missing_lock_is_not_held_and_its_path_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing/lock");

        let error = LockFile::try_take(&path).unwrap_err();

        assert!(!LockFile::is_held(&path));
        assert_eq!(error.to_string(), format!("cannot lock {}", path.display()));
        assert_eq!(LockFile::try_existing(&path).unwrap_err().source.kind(), io::ErrorKind::NotFound);
    }
}
