//! A daemon that is one process: its program, its files, and what is left of it when it ends.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichor_bgp::render::Service;
use ichor_system::file::{ReplaceError, StagedFile};

use crate::daemon::process::ask;

/// Where a daemon is and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonPaths {
    /// The program.
    pub program: PathBuf,
    /// The folder of the file it reads.
    pub folder: PathBuf,
    /// The folder of what is gone after a reboot.
    pub run: PathBuf,
}

/// A file was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ConfigCheckError {
    /// It could not be given to the daemon.
    #[error(transparent)]
    Write(#[from] ReplaceError),
    /// The daemon did not run.
    #[error("cannot ask {} about its configuration", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The daemon does not understand it.
    #[error("{daemon} refuses its configuration: {said}")]
    Refused {
        /// The daemon.
        daemon: &'static str,
        /// What it said.
        said: String,
    },
}

impl DaemonPaths {
    /// A file that is gone after a reboot.
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

    /// Asks the program itself about a file, with `arguments` before its path. The one that is read otherwise stays.
    pub async fn check(
        &self,
        service: &Service,
        daemon: &'static str,
        arguments: &[&str],
    ) -> Result<(), ConfigCheckError> {
        let tried = self.file(service).with_extension("tried");
        replace(&tried, service.text())?;
        let mut command = Command::new(&self.program);
        command.args(arguments).arg(&tried);
        let output = ask(command).await;
        let _ = fs::remove_file(&tried);
        let output =
            output.map_err(|source| ConfigCheckError::Run { program: self.program.clone(), source })?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stderr, output.stdout].concat();
        let said = String::from_utf8_lossy(&said).trim().replace(&*tried.to_string_lossy(), "it");
        Err(ConfigCheckError::Refused { daemon, said })
    }

    /// Remembers that the daemon runs, and says whether an earlier one ended without leaving.
    pub fn enter(&self) -> Result<bool, ReplaceError> {
        let sign = self.run("running");
        let was = sign.exists();
        replace(&sign, "").map(|()| was)
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

    /// Forgets the daemon: nobody keeps its routes.
    pub fn leave(&self) {
        let _ = fs::remove_file(self.run("running"));
    }
}

/// The options of a daemon in the file `daemons` of its service.
pub fn options(service: &Service, daemon: &str) -> Vec<String> {
    let start = format!("{daemon}_options=");
    let line = service.daemons().lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap_or_default().trim_matches('"').split_whitespace().map(str::to_owned).collect()
}

/// Replaces a file in one step: the daemon may read it at any moment. It can hold passwords, so it is for its owner alone. What
/// it is made of has a name of its own: when the agent is killed meanwhile, the next one takes it away.
pub fn replace(path: &Path, text: &str) -> Result<(), ReplaceError> {
    let failed = |source| ReplaceError { path: path.to_owned(), source };
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    let mut staged = StagedFile::beside_as(path, ".new")?;
    staged.file().write_all(text.as_bytes()).map_err(failed)?;
    staged.place()
}

/// Lets everybody walk through a folder: Talos makes the one it mounts at /run for root alone, and daemons give up root's rights.
pub fn open_way(folder: &Path) -> io::Result<()> {
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
    fn a_way_is_opened_only_where_it_is_shut() {
        let folder = tempfile::tempdir().unwrap();
        let mode = || fs::metadata(folder.path()).unwrap().permissions().mode() & 0o7777;
        let after = |before| {
            fs::set_permissions(folder.path(), Permissions::from_mode(before)).unwrap();
            open_way(folder.path()).unwrap();
            mode()
        };

        assert_eq!([0o700, 0o1777, 0o711].map(after), [0o755, 0o1777, 0o711]);
    }

    #[test]
    fn options_are_the_words_of_their_line() {
        let text = "# n1: written by ichor\nbird=yes\nbird_options=\"-l -D  /tmp/x\"\n".to_owned();
        let files = vec![routing::ConfigFile { name: "daemons", text, private: false }];
        let service = Service { name: "bird", version: (2, 17), folder: "/etc/bird", files };

        assert_eq!(options(&service, "bird"), ["-l", "-D", "/tmp/x"]);
        assert_eq!(options(&service, "gobgpd"), [""; 0]);
    }

    #[test]
    fn one_that_did_not_leave_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let place =
            DaemonPaths { program: "/bin/true".into(), folder: "/".into(), run: folder.path().to_owned() };

        assert!(!place.enter().unwrap());
        assert!(place.enter().unwrap());
        place.leave();
        assert!(!place.enter().unwrap());
    }
}
