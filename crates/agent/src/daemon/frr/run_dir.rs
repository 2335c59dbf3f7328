//! The installation of FRR, and the directory of its daemons' sockets.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use ichor_bgp::reload::FrrDaemon;
use ichor_system::lock::LockFile;

use crate::daemon::account;
use crate::daemon::paths::allow_traversal;
use crate::daemon::release::{self, ReleaseError};

/// Directories of FRR's programs: Debian and Alpine, then Fedora.
pub(in crate::daemon) const PROGRAMS: [&str; 2] = ["/usr/lib/frr", "/usr/libexec/frr"];

/// Compiled into FRR: mgmtd's own sockets are always here.
const RUN: &str = "/var/run/frr";

/// Also compiled in: a directory `DAEMON.PID` for each process, with buffered log messages. A killed process leaves it
/// behind.
const LOG_BUFFERS: &str = "/var/tmp/frr";

/// FRR cannot run here.
#[derive(Debug, thiserror::Error)]
pub enum FrrInstallError {
    /// It is not installed.
    #[error("FRR is not installed: zebra not found in {}", PROGRAMS.join(" or "))]
    NoPrograms,
    /// Its release is unknown.
    #[error("cannot determine the release of {}", program.display())]
    NoVersion {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: ReleaseError,
    },
    /// It refuses to run as root, and the account it switches to is missing.
    #[error("{kind} `{name}` not found; FRR needs it to drop root privileges")]
    MissingAccount {
        /// User or group.
        kind: &'static str,
        /// Its name.
        name: &'static str,
    },
    /// The directory of its sockets cannot be created.
    #[error("cannot create {} for FRR's sockets", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another agent uses the directory.
    #[error("another agent runs FRR in {}; give this one another name", folder.display())]
    Taken {
        /// The folder.
        folder: PathBuf,
    },
}

/// The installed FRR. Finding it changes nothing.
#[derive(Clone, Debug)]
pub struct FrrInstallation {
    programs: PathBuf,
    version: (u16, u16),
}

impl FrrInstallation {
    /// Finds FRR.
    pub async fn find() -> Result<Self, FrrInstallError> {
        let has_zebra = |folder: &&Path| folder.join("zebra").exists();
        let programs = PROGRAMS.iter().map(Path::new).find(has_zebra).ok_or(FrrInstallError::NoPrograms)?;
        let program = programs.join("zebra");
        let version = release::installed_release("frr", &program).await;
        let version = version.map_err(|source| FrrInstallError::NoVersion { program, source })?;
        Ok(Self { programs: programs.to_owned(), version })
    }

    /// The release of FRR.
    pub fn version(&self) -> (u16, u16) {
        self.version
    }

    /// The program of a daemon.
    pub(super) fn program(&self, daemon: FrrDaemon) -> PathBuf {
        self.programs.join(daemon.name())
    }
}

/// The directory of one suite of FRR's daemons.
#[derive(Debug)]
pub struct FrrRunDir {
    install: FrrInstallation,
    pathspace: Option<String>,
    run: PathBuf,
    /// Held as long as this agent uses the directory.
    _lock: LockFile,
}

impl FrrRunDir {
    /// Creates and locks the directory of FRR's sockets: FRR's own, or the subdirectory `space`, so that several agents
    /// can run side by side.
    pub fn create(install: FrrInstallation, pathspace: Option<&str>) -> Result<Self, FrrInstallError> {
        let run = pathspace.map_or_else(|| PathBuf::from(RUN), |pathspace| Path::new(RUN).join(pathspace));
        create_directory(&run)?;
        let lock = lock_directory(&run)?;
        Ok(Self { install, pathspace: pathspace.map(str::to_owned), run, _lock: lock })
    }

    /// The installation that runs there.
    pub fn install(&self) -> &FrrInstallation {
        &self.install
    }

    /// The path of the directory.
    pub fn run(&self) -> &Path {
        &self.run
    }

    /// The VTY socket of a daemon.
    pub(super) fn socket(&self, daemon: FrrDaemon) -> PathBuf {
        self.run.join(format!("{daemon}.vty"))
    }

    /// The sockets on which other daemons connect to a daemon.
    pub(super) fn service_sockets(&self, daemon: FrrDaemon) -> Vec<PathBuf> {
        let names: &[&str] = match daemon {
            FrrDaemon::Mgmtd => &["mgmtd_be.sock", "mgmtd_fe.sock"],
            FrrDaemon::Zebra => &["zserv.api"],
            FrrDaemon::Bfdd | FrrDaemon::Staticd | FrrDaemon::Bgpd => &[],
        };
        names.iter().map(|name| self.run.join(name)).collect()
    }

    /// The arguments of every daemon about the directory. The pid file is named although it is the default: it
    /// identifies the daemon to a later run.
    pub(super) fn arguments(&self, daemon: FrrDaemon) -> Vec<String> {
        let mut options = vec!["-i".to_owned(), self.pid_argument(daemon)];
        options.extend(self.pathspace.iter().flat_map(|pathspace| ["-N".to_owned(), pathspace.clone()]));
        options
    }

    /// The argument that identifies a daemon of this directory.
    pub(super) fn pid_argument(&self, daemon: FrrDaemon) -> String {
        self.run.join(format!("{daemon}.pid")).display().to_string()
    }

    /// Removes what an earlier process of a daemon left, so that existing files are the new one's.
    pub(super) fn remove_leftovers(&self, daemon: FrrDaemon) {
        remove_log_buffers(Path::new(LOG_BUFFERS), daemon);
        let files = [self.socket(daemon), self.run.join(format!("{daemon}.pid"))];
        for path in files.into_iter().chain(self.service_sockets(daemon)) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Creates the directory of the sockets, owned by FRR's user.
fn create_directory(folder: &Path) -> Result<(), FrrInstallError> {
    let user =
        account::user_id("frr").ok_or(FrrInstallError::MissingAccount { kind: "user", name: "frr" })?;
    let group =
        account::group_id("frr").ok_or(FrrInstallError::MissingAccount { kind: "group", name: "frr" })?;
    let attempt = || {
        fs::create_dir_all(folder)?;
        allow_traversal(Path::new(RUN).parent().unwrap_or(folder))?;
        for made in folder.ancestors().take_while(|made| made.starts_with(RUN)) {
            chown(made, Some(user), Some(group))?;
            fs::set_permissions(made, fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    };
    attempt().map_err(|source| FrrInstallError::Folder { folder: folder.to_owned(), source })
}

fn lock_directory(folder: &Path) -> Result<LockFile, FrrInstallError> {
    let lock = LockFile::try_take(&folder.join("agent.lock"));
    let failed = |source| FrrInstallError::Folder { folder: folder.to_owned(), source };
    let lock = lock.map_err(|error| failed(error.source))?;
    lock.ok_or_else(|| FrrInstallError::Taken { folder: folder.to_owned() })
}

/// Removes the buffered log messages of a daemon's ended processes.
fn remove_log_buffers(folder: &Path, daemon: FrrDaemon) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(daemon.name())?.strip_prefix('.'));
        let Some(pid) = pid.and_then(|pid| pid.parse::<u32>().ok()) else { continue };
        // A zombie has no executable any more.
        if fs::read_link(format!("/proc/{pid}/exe")).is_err() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_buffers_of_running_processes_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let own_pid = std::process::id();
        let names = [
            format!("bgpd.{own_pid}"),
            "bgpd.4194305".to_owned(),
            "zebra.4194305".to_owned(),
            "bgpd".to_owned(),
        ];
        for name in &names {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("logbuf.1"), "").unwrap();
        }

        remove_log_buffers(folder.path(), FrrDaemon::Bgpd);

        let left = names.map(|name| folder.path().join(name).exists());
        assert_eq!(left, [true, false, true, true]);
    }
}
