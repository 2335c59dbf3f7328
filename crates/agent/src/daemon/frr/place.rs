//! Where FRR is, and where its daemons keep their sockets.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use ichor_bgp::reload::FrrDaemon;
use ichor_system::lock::LockFile;

use crate::daemon::account;
use crate::daemon::place::open_way;
use crate::daemon::release::{self, ReleaseError};

/// Where FRR's programs are: Debian and Alpine, then Fedora.
pub(in crate::daemon) const PROGRAMS: [&str; 2] = ["/usr/lib/frr", "/usr/libexec/frr"];

/// Compiled into FRR: mgmtd's own sockets can be nowhere else.
const RUN: &str = "/var/run/frr";

/// Compiled in as well: a folder `DAEMON.PID` for each process, with the last words that it has not said yet. Who is killed leaves
/// it behind.
const WORDS: &str = "/var/tmp/frr";

/// FRR cannot run here.
#[derive(Debug, thiserror::Error)]
pub enum FrrInstallError {
    /// It is not installed.
    #[error("FRR is not installed: there is no zebra in {}", PROGRAMS.join(" or "))]
    NoPrograms,
    /// It does not tell its release.
    #[error("cannot find out the release of {}", program.display())]
    NoVersion {
        /// The program.
        program: PathBuf,
        /// Why.
        source: ReleaseError,
    },
    /// It refuses to run as root, and there is nobody else.
    #[error("there is no {kind} `{name}`; FRR needs it to give up the rights of root")]
    Nobody {
        /// User or group.
        kind: &'static str,
        /// Its name.
        name: &'static str,
    },
    /// The folder of its sockets cannot be made.
    #[error("cannot make {} for FRR's sockets", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another agent has the folder.
    #[error("another agent runs FRR in {}; give this one a name of its own", folder.display())]
    Taken {
        /// The folder.
        folder: PathBuf,
    },
}

/// FRR as it is installed. Finding it touches nothing.
#[derive(Clone, Debug)]
pub struct FrrInstallation {
    programs: PathBuf,
    version: (u16, u16),
}

impl FrrInstallation {
    /// Finds FRR.
    pub async fn find() -> Result<Self, FrrInstallError> {
        let here = |folder: &&Path| folder.join("zebra").exists();
        let programs = PROGRAMS.iter().map(Path::new).find(here).ok_or(FrrInstallError::NoPrograms)?;
        let program = programs.join("zebra");
        let version = release::of("frr", &program).await;
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

/// Where one suite of FRR's daemons runs.
#[derive(Debug)]
pub struct FrrRunDir {
    install: FrrInstallation,
    space: Option<String>,
    run: PathBuf,
    /// Held as long as the suite is this agent's.
    _lock: LockFile,
}

impl FrrRunDir {
    /// Takes the folder of FRR's sockets: its own, or one below it by the name of `space`, so that several agents can run
    /// side by side.
    pub fn take(install: FrrInstallation, space: Option<&str>) -> Result<Self, FrrInstallError> {
        let run = space.map_or_else(|| PathBuf::from(RUN), |space| Path::new(RUN).join(space));
        make(&run)?;
        let lock = lock(&run)?;
        Ok(Self { install, space: space.map(str::to_owned), run, _lock: lock })
    }

    /// The FRR that runs there.
    pub fn install(&self) -> &FrrInstallation {
        &self.install
    }

    /// The folder of the sockets.
    pub fn run(&self) -> &Path {
        &self.run
    }

    /// The socket on which a daemon answers.
    pub(super) fn socket(&self, daemon: FrrDaemon) -> PathBuf {
        self.run.join(format!("{daemon}.vty"))
    }

    /// The sockets that other daemons find a daemon by.
    pub(super) fn doors(&self, daemon: FrrDaemon) -> Vec<PathBuf> {
        let names: &[&str] = match daemon {
            FrrDaemon::Mgmtd => &["mgmtd_be.sock", "mgmtd_fe.sock"],
            FrrDaemon::Zebra => &["zserv.api"],
            FrrDaemon::Bfdd | FrrDaemon::Staticd | FrrDaemon::Bgpd => &[],
        };
        names.iter().map(|name| self.run.join(name)).collect()
    }

    /// What every daemon is told about the place. The pid file is named although it is the usual one: by this word
    /// a later run knows the daemon.
    pub(super) fn options(&self, daemon: FrrDaemon) -> Vec<String> {
        let mut options = vec!["-i".to_owned(), self.mark(daemon)];
        options.extend(self.space.iter().flat_map(|space| ["-N".to_owned(), space.clone()]));
        options
    }

    /// The word among its arguments by which a daemon of this place is known.
    pub(super) fn mark(&self, daemon: FrrDaemon) -> String {
        self.run.join(format!("{daemon}.pid")).display().to_string()
    }

    /// Takes away what an earlier process of a daemon left, so that what is there is the new one's.
    pub(super) fn clear(&self, daemon: FrrDaemon) {
        forget_words(Path::new(WORDS), daemon);
        let files = [self.socket(daemon), self.run.join(format!("{daemon}.pid"))];
        for path in files.into_iter().chain(self.doors(daemon)) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Makes the folder of the sockets, for FRR's own user.
fn make(folder: &Path) -> Result<(), FrrInstallError> {
    let user = account::user("frr").ok_or(FrrInstallError::Nobody { kind: "user", name: "frr" })?;
    let group = account::group("frr").ok_or(FrrInstallError::Nobody { kind: "group", name: "frr" })?;
    let attempt = || {
        fs::create_dir_all(folder)?;
        open_way(Path::new(RUN).parent().unwrap_or(folder))?;
        for made in folder.ancestors().take_while(|made| made.starts_with(RUN)) {
            chown(made, Some(user), Some(group))?;
            fs::set_permissions(made, fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    };
    attempt().map_err(|source| FrrInstallError::Folder { folder: folder.to_owned(), source })
}

fn lock(folder: &Path) -> Result<LockFile, FrrInstallError> {
    let lock = LockFile::try_take(&folder.join("agent.lock"));
    let failed = |source| FrrInstallError::Folder { folder: folder.to_owned(), source };
    let lock = lock.map_err(|error| failed(error.source))?;
    lock.ok_or_else(|| FrrInstallError::Taken { folder: folder.to_owned() })
}

/// Removes the last words of a daemon's processes that run no more.
fn forget_words(folder: &Path, daemon: FrrDaemon) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(daemon.name())?.strip_prefix('.'));
        let Some(pid) = pid.and_then(|pid| pid.parse::<u32>().ok()) else { continue };
        // One that has ended and was not waited for runs nothing any more.
        if fs::read_link(format!("/proc/{pid}/exe")).is_err() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_of_processes_that_run_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let here = std::process::id();
        let names = [
            format!("bgpd.{here}"),
            "bgpd.4194305".to_owned(),
            "zebra.4194305".to_owned(),
            "bgpd".to_owned(),
        ];
        for name in &names {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("logbuf.1"), "").unwrap();
        }

        forget_words(folder.path(), FrrDaemon::Bgpd);

        let left = names.map(|name| folder.path().join(name).exists());
        assert_eq!(left, [true, false, true, true]);
    }
}
