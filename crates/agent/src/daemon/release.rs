//! The installed release of a daemon.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use ichor_bgp::agent::frr::parse_version;
use ichor_values::DAEMON_RELEASE as RELEASE;

use crate::daemon::process::capture;

/// The release is unknown.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The program cannot be run.
    #[error("cannot run it")]
    Run(#[source] io::Error),
    /// The output contains no release.
    #[error("its output has no release: {0}")]
    Unknown(String),
}

/// Major and minor number of a daemon's release: as recorded by the extension, because running the program takes longer
/// than everything else before its start.
pub async fn installed_release(name: &str, program: &Path) -> Result<(u16, u16), ReleaseError> {
    let recorded = fs::read_to_string(RELEASE).unwrap_or_default();
    let recorded = recorded.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    if let Some(release) = recorded.and_then(|number| parse_version(&format!("version {number}"))) {
        return Ok(release);
    }
    let mut command = Command::new(program);
    command.arg("--version");
    let output = capture(command).await.map_err(ReleaseError::Run)?;
    let output_text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned();
    parse_version(&output_text).ok_or(ReleaseError::Unknown(output_text))
}
