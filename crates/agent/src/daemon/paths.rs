//! The files of a daemon with a single process: its program, its configuration, and its traces after an unclean exit.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichor_bgp::render::Service;
use ichor_system::file::{ReplaceError, StagedFile};

use crate::daemon::process::capture;

/// The paths of a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonPaths {
    /// The program.
    pub program: PathBuf,
    /// The directory of the file that it reads.
    pub folder: PathBuf,
    /// The directory of files that do not survive a reboot.
    pub run: PathBuf,
}

/// A file failed the check.
#[derive(Debug, thiserror::Error)]
pub enum ConfigCheckError {
    /// The file to check cannot be written.
    #[error(transparent)]
    Write(#[from] ReplaceError),
    /// The daemon's program cannot be run.
    #[error("cannot run {} to check its configuration", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The daemon rejects the file.
    #[error("{daemon} refuses its configuration: {message}")]
    Refused {
        /// The daemon.
        daemon: &'static str,
        /// The daemon's output.
        message: String,
    },
}

impl DaemonPaths {
    /// The path of a file that does not survive a reboot.
    pub fn run(&self, name: &str) -> PathBuf {
        self.run.join(name)
    }

    /// The file that the daemon reads.
    pub fn file(&self, service: &Service) -> PathBuf {
        self.folder.join(service.files.first().map_or("", |file| file.name))
    }

    /// Writes the file that the daemon reads.
    pub fn write(&self, service: &Service) -> Result<(), ReplaceError> {
        replace(&self.file(service), service.text())
    }

    /// Validates a file with the daemon's own parser, with `arguments` before its path. The file that the daemon reads
    /// stays.
    pub async fn check(
        &self,
        service: &Service,
        daemon: &'static str,
        arguments: &[&str],
    ) -> Result<(), ConfigCheckError> {
        let candidate = self.file(service).with_extension("tried");
        replace(&candidate, service.text())?;
        let mut command = Command::new(&self.program);
        command.args(arguments).arg(&candidate);
        let output = capture(command).await;
        let _ = fs::remove_file(&candidate);
        let output =
            output.map_err(|source| ConfigCheckError::Run { program: self.program.clone(), source })?;
        if output.status.success() {
            return Ok(());
        }
        let message = [output.stderr, output.stdout].concat();
        let message = String::from_utf8_lossy(&message).trim().replace(&*candidate.to_string_lossy(), "it");
        Err(ConfigCheckError::Refused { daemon, message })
    }

    /// Records that the daemon runs; returns whether an earlier one exited uncleanly.
    pub fn record_start(&self) -> Result<bool, ReplaceError> {
        let marker = self.run("running");
        let existed = marker.exists();
        replace(&marker, "").map(|()| existed)
    }

    /// Removes a file of an earlier daemon.
    pub fn clear(path: &Path) -> Result<(), ReplaceError> {
        match fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(ReplaceError { path: path.to_owned(), source })
            }
            _ => Ok(()),
        }
    }

    /// Records that the daemon was stopped cleanly, and no neighbour keeps its routes.
    pub fn record_clean_stop(&self) {
        let _ = fs::remove_file(self.run("running"));
    }
}

/// The options of a daemon in its service's `daemons` file.
pub fn options(service: &Service, daemon: &str) -> Vec<String> {
    let start = format!("{daemon}_options=");
    let line = service.daemons().lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap_or_default().trim_matches('"').split_whitespace().map(str::to_owned).collect()
}

/// Replaces a file atomically: the daemon may read it at any moment. It may contain passwords, so only its owner can
/// read it. The temporary file has a fixed name: if the agent is killed meanwhile, the next one replaces it.
pub fn replace(path: &Path, text: &str) -> Result<(), ReplaceError> {
    let failed = |source| ReplaceError { path: path.to_owned(), source };
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    let mut staged = StagedFile::beside_as(path, ".new")?;
    staged.file().write_all(text.as_bytes()).map_err(failed)?;
    staged.place()
}

/// Lets every user traverse a directory: Talos mounts `/run` for root only, and daemons drop root privileges.
pub fn allow_traversal(folder: &Path) -> io::Result<()> {
    let mode = fs::metadata(folder)?.permissions().mode();
    if mode & 0o001 == 0 {
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ichor_bgp::render as routing;

    use super::*;

    #[test]
    fn traversal_is_allowed_only_where_it_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let mode = || fs::metadata(folder.path()).unwrap().permissions().mode() & 0o7777;
        let after = |before| {
            fs::set_permissions(folder.path(), Permissions::from_mode(before)).unwrap();
            allow_traversal(folder.path()).unwrap();
            mode()
        };

        assert_eq!([0o700, 0o1777, 0o711].map(after), [0o755, 0o1777, 0o711]);
    }

    #[test]
    fn options_are_split_at_whitespace() {
        let text = "# n1: written by ichor\nbird=yes\nbird_options=\"-l -D  /tmp/x\"\n".to_owned();
        let files = vec![routing::ConfigFile { name: "daemons", text, private: false }];
        let service = Service { name: "bird", version: (2, 17), folder: "/etc/bird", files };

        assert_eq!(options(&service, "bird"), ["-l", "-D", "/tmp/x"]);
        assert_eq!(options(&service, "gobgpd"), [""; 0]);
    }

    #[test]
    fn an_unclean_exit_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let paths =
            DaemonPaths { program: "/bin/true".into(), folder: "/".into(), run: folder.path().to_owned() };

        assert!(!paths.record_start().unwrap());
        assert!(paths.record_start().unwrap());
        paths.record_clean_stop();
        assert!(!paths.record_start().unwrap());
    }
}
