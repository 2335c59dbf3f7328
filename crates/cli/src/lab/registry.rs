//! The labs of this user: a folder per lab, with a lock that is held while the lab runs.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ichor_system::lock::LockFile;
use ichor_values::format::FormatError;
use ichor_values::nearest;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

/// Time limit for ending a lab.
const END_TIMEOUT: Duration = Duration::from_secs(20);

/// Errors of finding and ending labs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LabError {
    #[error("`{0}` is not a lab name; want at most 64 letters, digits, `-`, `_` and `.`")]
    Name(String),
    #[error("no lab `{name}`; {}list labs with `ichor lab ls`, or start one with `ichor lab up`", .near.as_ref().map_or_else(String::new, |near| format!("did you mean `{near}`? ")))]
    None { name: String, near: Option<String> },
    #[error("no lab is running; start one with `ichor lab up`")]
    NoneAtAll,
    #[error("several labs are running: {}; choose one with `--lab`", .0.join(", "))]
    Several(Vec<String>),
    #[error(
        "lab `{0}` is running and differs from the cluster file; end it with `ichor lab down {0}`, or use `--replace`"
    )]
    AlreadyRuns(String),
    #[error("lab `{0}` is still starting; wait for it, end it with `ichor lab down {0}`, or use `--replace`")]
    Starting(String),
    #[error("unknown name `{name}` in this lab{}", .near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    Unknown { name: String, near: Option<String> },
    #[error("no folder for labs: XDG_RUNTIME_DIR is not set")]
    NoRuntimeDir,
    #[error("lab `{0}` did not end: its init process {1} still runs")]
    DoesNotEnd(String, i32),
    #[error("{}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "cannot read {}: {error}; use the ichor release that started this lab, or end the lab with `ichor lab down`",
        path.display()
    )]
    Record { path: PathBuf, error: FormatError },
}

/// The folder of a lab, which may not exist.
#[derive(Clone, Debug)]
pub(crate) struct LabDir(PathBuf);

/// The folder of a lab with its lock held.
pub(crate) struct LockedLabDir {
    pub dir: LabDir,
    pub lock: LockFile,
}

impl LabDir {
    /// The folder of the lab of this name.
    pub(crate) fn named(name: &str) -> Result<Self, LabError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if !(1..=64).contains(&name.len()) || !name.bytes().all(plain) || name.starts_with('.') {
            return Err(LabError::Name(name.to_owned()));
        }
        Ok(Self(labs_folder()?.join(name)))
    }

    /// A lab folder by its path.
    pub(crate) fn from_path(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// All lab folders, whether their labs run or not.
    pub(crate) fn all() -> Result<Vec<Self>, LabError> {
        let root = labs_folder()?;
        let entries = match fs::read_dir(&root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|source| LabError::Io { path: root, source })?,
        };
        let mut dirs: Vec<_> = entries.filter_map(|entry| Some(Self(entry.ok()?.path()))).collect();
        dirs.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(dirs)
    }

    /// The error for a missing lab, with a suggestion of a similar name.
    pub(crate) fn absent(&self) -> LabError {
        let all = Self::all().unwrap_or_default();
        let others = all.iter().filter(|dir| dir.name() != self.name()).map(Self::name);
        LabError::None { name: self.name().to_owned(), near: nearest(self.name(), others).map(str::to_owned) }
    }

    /// The only running lab.
    pub(crate) fn only_running() -> Result<Self, LabError> {
        let mut alive: Vec<_> = Self::all()?.into_iter().filter(Self::is_alive).collect();
        match alive.len() {
            0 => Err(LabError::NoneAtAll),
            1 => Ok(alive.remove(0)),
            _ => Err(LabError::Several(alive.iter().map(|dir| dir.name().to_owned()).collect())),
        }
    }

    /// Name of the lab.
    pub(crate) fn name(&self) -> &str {
        self.0.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Path of the lab's record.
    pub(crate) fn record(&self) -> PathBuf {
        self.0.join("lab.json")
    }

    /// Log file of a machine's daemons.
    pub(crate) fn log(&self, machine: &str) -> PathBuf {
        self.0.join("log").join(format!("{machine}.log"))
    }

    /// Folder of a VM by its index, which keeps the paths of sockets short.
    pub(crate) fn guest(&self, nth: usize) -> PathBuf {
        self.0.join("guests").join(nth.to_string())
    }

    /// The talosconfig for VMs.
    pub(crate) fn client(&self) -> PathBuf {
        self.0.join("talosconfig")
    }

    fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Whether the lab runs: its lock is held.
    pub(crate) fn is_alive(&self) -> bool {
        LockFile::is_held(&self.lock())
    }

    /// Locks the folder and clears it; none while its lab runs.
    pub(crate) fn acquire(self) -> Result<Option<LockedLabDir>, LabError> {
        let io_error = |source| LabError::Io { path: self.0.clone(), source };
        let mut lock = loop {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(io_error)?;
            match LockFile::try_take(&self.lock()) {
                Ok(Some(lock)) => break lock,
                Ok(None) => return Ok(None),
                // The process that ended the previous lab has removed the folder in the meantime.
                Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io_error(error.source)),
            }
        };
        // The PID of the previous lab must not remain: it may belong to an unrelated process now.
        lock.write_holder(std::process::id()).map_err(io_error)?;
        self.clear().map_err(io_error)?;
        DirBuilder::new().mode(0o700).create(self.0.join("log")).map_err(io_error)?;
        Ok(Some(LockedLabDir { dir: self, lock }))
    }

    /// Removes the files of an earlier lab.
    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            if path.is_dir() {
                fs::remove_dir_all(path)?;
            } else if path != self.lock() {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Ends the lab and removes its folder; false if neither existed.
    pub(crate) fn end(&self) -> Result<bool, LabError> {
        let io_error = |source| LabError::Io { path: self.0.clone(), source };
        let path = self.lock();
        let mut lock = match LockFile::try_existing(&path) {
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(self.remove().is_ok()),
            lock => lock.map_err(|error| io_error(error.source))?,
        };
        let start = Instant::now();
        let mut holder = None;
        while lock.is_none() || holder.is_some_and(is_running) {
            let pid = LockFile::holder(&path);
            // The holder of the lock writes its PID first.
            holder = pid.filter(|pid| *pid > 1);
            if let Some(pid) = holder {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            if start.elapsed() > END_TIMEOUT {
                return Err(LabError::DoesNotEnd(self.name().to_owned(), pid.unwrap_or_default()));
            }
            thread::sleep(Duration::from_millis(10));
            if lock.is_none() {
                lock = match LockFile::try_existing(&path) {
                    Err(error) if error.source.kind() == io::ErrorKind::NotFound => break,
                    lock => lock.map_err(|error| io_error(error.source))?,
                };
            }
        }
        match self.remove() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(error)),
            _ => Ok(true),
        }
    }

    /// Removes the folder.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.0)
    }
}

/// Whether a process exists and is not a zombie. The init process of a PID namespace exits after all others, when the
/// lock is already free.
fn is_running(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// The folder of all labs.
fn labs_folder() -> Result<PathBuf, LabError> {
    let run = if geteuid().is_root() {
        PathBuf::from("/run")
    } else {
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).ok_or(LabError::NoRuntimeDir)?
    };
    Ok(run.join("ichor/lab"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ending_a_lab_kills_the_holder_of_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let dir = LabDir::from_path(folder.path().join("rack"));
        fs::create_dir(dir.path()).unwrap();
        fs::write(dir.lock(), "123456\n").unwrap();

        let taken = dir.clone().acquire().unwrap().unwrap();

        assert_eq!(fs::read_to_string(dir.lock()).unwrap(), format!("{}\n", std::process::id()));
        assert!(dir.clone().acquire().unwrap().is_none());
        drop(taken);
    }
}
