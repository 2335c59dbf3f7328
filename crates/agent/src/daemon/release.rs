//! Which release of a daemon is there.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use ichor_bgp::agent::frr::version;
use ichor_values::DAEMON_RELEASE as RELEASE;

use crate::daemon::process::ask;

/// Nobody says which release it is.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// It did not run.
    #[error("cannot ask for its release")]
    Run(#[source] io::Error),
    /// It says something else.
    #[error("it says no release: {0}")]
    Unknown(String),
}

/// Major and minor number of a daemon: as the extension notes it, because to ask the program takes longer than all else that is
/// done before it starts.
pub async fn of(name: &str, program: &Path) -> Result<(u16, u16), ReleaseError> {
    let noted = fs::read_to_string(RELEASE).unwrap_or_default();
    let noted = noted.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    if let Some(release) = noted.and_then(|number| version(&format!("version {number}"))) {
        return Ok(release);
    }
    let mut command = Command::new(program);
    command.arg("--version");
    let output = ask(command).await.map_err(ReleaseError::Run)?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned();
    version(&said).ok_or(ReleaseError::Unknown(said))
}
