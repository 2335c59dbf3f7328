//! The run directory: its lock, and the state that the agent stores there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ichor_system::lock::LockFile;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::RunError;
use crate::daemon::paths::{allow_traversal, replace};
use crate::{log, serve};

/// Locked by the running agent: a second one would treat the links and daemons of the first as leftovers.
const LOCK: &str = "agent.lock";
/// Exists while anycast addresses are announced.
pub(super) const ANYCAST_OPEN: &str = "anycast-open";
/// The values of sysctls from before the agent.
pub const SYSCTLS: &str = "switches.json";
/// The routers of established sessions.
pub(super) const ROUTERS: &str = "routers.json";

/// Every file of the directory: those of the agent and of the daemons that it runs.
const FILES: [&str; 16] = [
    LOCK,
    ANYCAST_OPEN,
    SYSCTLS,
    ROUTERS,
    serve::socket::NAME,
    "running",
    "daemons",
    "frr.conf",
    "frr.conf.tried",
    "bird.conf",
    "bird.ctl",
    "bird.pid",
    "bird.tried",
    "gobgpd.toml",
    "gobgpd.tried",
    "gobgpd.sock",
];

/// A run directory that this process has locked.
pub struct StateDir {
    path: PathBuf,
    /// Released when the directory is dropped.
    _lock: LockFile,
}

impl StateDir {
    /// Creates the directory if needed, and locks it unless another agent has it.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        let folder = |source| RunError::Folder { path: path.to_owned(), source };
        fs::create_dir_all(path).map_err(folder)?;
        // FRR's own user reads the files to check there.
        for way in [path.parent(), Some(path)].into_iter().flatten() {
            allow_traversal(way).map_err(folder)?;
        }
        let lock = LockFile::try_take(&path.join(LOCK)).map_err(|error| folder(error.source))?;
        let lock = lock.ok_or_else(|| RunError::Taken { path: path.to_owned() })?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Loads the value of a name; the default if it cannot be read.
    pub fn load<T: DeserializeOwned + Default>(&self, name: &str) -> T {
        let text = fs::read_to_string(self.path.join(name)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Stores a value under a name.
    pub(super) fn store<T: Serialize>(&self, name: &str, what: &T) {
        let text = serde_json::to_string(what).unwrap_or_default();
        if let Err(error) = replace(&self.path.join(name), &text) {
            log::debug(format_args!("cannot store {name}: {error}"));
        }
    }

    /// Removes all files of the agent, including temporary ones of a killed agent, and the directory if it is then empty.
    pub fn clear(self) -> io::Result<()> {
        for name in FILES.into_iter().flat_map(|name| [name.to_owned(), format!("{name}.new")]) {
            match fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        match fs::remove_dir(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clearing_a_run_directory_keeps_foreign_files() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("ichor");
        let folder = StateDir::open(&path).unwrap();
        folder.store(ROUTERS, &["fe80::1"]);
        fs::write(path.join("frr.conf.new"), "").unwrap();
        assert!(matches!(StateDir::open(&path), Err(RunError::Taken { .. })));
        assert_eq!(folder.load::<Vec<String>>(ROUTERS), ["fe80::1"]);

        folder.clear().unwrap();
        assert!(!path.exists());

        let folder = StateDir::open(&path).unwrap();
        fs::write(path.join("notes"), "theirs").unwrap();
        folder.clear().unwrap();
        let left: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["notes"]);
    }
}
