//! Where labs are known by their names: a folder each, and a lock that is held as long as the lab lives.

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

/// How long a lab may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(20);

/// Something about a lab that is not as asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LabError {
    #[error("`{0}` is no name for a lab: letters, digits, `-`, `_` and `.`, at most 64 of them")]
    Name(String),
    #[error("there is no lab `{name}`; {}`ichor lab ls` lists what runs, and `ichor lab up` brings one up", .near.as_ref().map_or_else(String::new, |near| format!("did you mean `{near}`? ")))]
    None { name: String, near: Option<String> },
    #[error("no lab runs here; `ichor lab up` brings one up")]
    NoneAtAll,
    #[error("more than one lab runs here: {}; say which with `--lab`", .0.join(", "))]
    Several(Vec<String>),
    #[error(
        "a lab `{0}` runs already, and it is not what the file says now; end it with `ichor lab down {0}`, or give `--replace`"
    )]
    AlreadyRuns(String),
    #[error(
        "a lab `{0}` is there already, and not up so far; wait for it, end it with `ichor lab down {0}`, or give `--replace`"
    )]
    Starting(String),
    #[error("nothing in this lab is called `{name}`{}", .near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    Unknown { name: String, near: Option<String> },
    #[error("there is no folder for labs: XDG_RUNTIME_DIR is not set")]
    Nowhere,
    #[error("the lab `{0}` does not end: its first process is {1}")]
    DoesNotEnd(String, i32),
    #[error("{}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "cannot read {}: {error}; another release of ichor brought this lab up: use that release, or end the lab with `ichor lab down`",
        path.display()
    )]
    Record { path: PathBuf, error: FormatError },
}

/// The folder of a lab, which may not be there.
#[derive(Clone, Debug)]
pub(crate) struct LabDir(PathBuf);

/// A place that nobody else can have: the lock is held.
pub(crate) struct LockedLabDir {
    pub place: LabDir,
    pub lock: LockFile,
}

impl LabDir {
    /// The place of a lab of this name.
    pub(crate) fn named(name: &str) -> Result<Self, LabError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if !(1..=64).contains(&name.len()) || !name.bytes().all(plain) || name.starts_with('.') {
            return Err(LabError::Name(name.to_owned()));
        }
        Ok(Self(labs_folder()?.join(name)))
    }

    /// The place of a folder.
    pub(crate) fn from_path(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Every place there is, whether its lab lives or not.
    pub(crate) fn all() -> Result<Vec<Self>, LabError> {
        let root = labs_folder()?;
        let entries = match fs::read_dir(&root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|source| LabError::Io { path: root, source })?,
        };
        let mut places: Vec<_> = entries.filter_map(|entry| Some(Self(entry.ok()?.path()))).collect();
        places.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(places)
    }

    /// That this lab is not there, and which of those that are may have been meant.
    pub(crate) fn absent(&self) -> LabError {
        let all = Self::all().unwrap_or_default();
        let others = all.iter().filter(|place| place.name() != self.name()).map(Self::name);
        LabError::None { name: self.name().to_owned(), near: nearest(self.name(), others).map(str::to_owned) }
    }

    /// The only lab that lives.
    pub(crate) fn only_running() -> Result<Self, LabError> {
        let mut alive: Vec<_> = Self::all()?.into_iter().filter(Self::is_alive).collect();
        match alive.len() {
            0 => Err(LabError::NoneAtAll),
            1 => Ok(alive.remove(0)),
            _ => Err(LabError::Several(alive.iter().map(|place| place.name().to_owned()).collect())),
        }
    }

    /// The lab's name.
    pub(crate) fn name(&self) -> &str {
        self.0.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The file that says what was built.
    pub(crate) fn record(&self) -> PathBuf {
        self.0.join("lab.json")
    }

    /// Where a machine's daemons write what they say.
    pub(crate) fn log(&self, machine: &str) -> PathBuf {
        self.0.join("log").join(format!("{machine}.log"))
    }

    /// What a virtual machine reads, by the machine's number: a socket in it has a path that is not too long.
    pub(crate) fn guest(&self, nth: usize) -> PathBuf {
        self.0.join("guests").join(nth.to_string())
    }

    /// How the administrator reaches virtual machines with Talos.
    pub(crate) fn client(&self) -> PathBuf {
        self.0.join("talosconfig")
    }

    fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Whether the lab lives: somebody holds the lock.
    pub(crate) fn is_alive(&self) -> bool {
        LockFile::is_held(&self.lock())
    }

    /// Takes the place, with everything in it gone; none while its lab lives.
    pub(crate) fn acquire(self) -> Result<Option<LockedLabDir>, LabError> {
        let io_error = |source| LabError::Io { path: self.0.clone(), source };
        let mut lock = loop {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(io_error)?;
            match LockFile::try_take(&self.lock()) {
                Ok(Some(lock)) => break lock,
                Ok(None) => return Ok(None),
                // Whoever ended the lab that was here has removed the folder since.
                Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io_error(error.source)),
            }
        };
        // Whoever ends this lab before its first process runs must not find the number of an earlier one: it may be anybody's now.
        lock.write_holder(std::process::id()).map_err(io_error)?;
        self.clear().map_err(io_error)?;
        DirBuilder::new().mode(0o700).create(self.0.join("log")).map_err(io_error)?;
        Ok(Some(LockedLabDir { place: self, lock }))
    }

    /// Removes what an earlier lab left.
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

    /// Ends the lab and removes its folder; false where there was neither.
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
            // Whoever takes the lock writes its number as the first thing it does.
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

/// Whether a process is there and not yet at its end. The first of a PID namespace comes to its end after all others: the lock
/// is free before.
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
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).ok_or(LabError::Nowhere)?
    };
    Ok(run.join("ichor/lab"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_takes_a_place_is_the_one_to_be_ended_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = LabDir::from_path(folder.path().join("rack"));
        fs::create_dir(place.path()).unwrap();
        fs::write(place.lock(), "123456\n").unwrap();

        let taken = place.clone().acquire().unwrap().unwrap();

        assert_eq!(fs::read_to_string(place.lock()).unwrap(), format!("{}\n", std::process::id()));
        assert!(place.clone().acquire().unwrap().is_none());
        drop(taken);
    }
}
