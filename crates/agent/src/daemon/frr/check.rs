//! Validation of a configuration by FRR itself, before anything is changed. It only reads.

use std::io::{self, Write as _};
use std::os::unix::fs::fchown;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichor_bgp::reload::{FrrDaemon, redact_secrets};
use ichor_bgp::render::{ConfigFile, Service};
use ichor_system::file::create_fresh;
use tempfile::TempPath;

use super::run_dir::FrrInstallation;
use crate::daemon::account;
use crate::daemon::process::capture;

/// Why a configuration fails the check.
#[derive(Debug, thiserror::Error)]
pub enum FrrCheckError {
    /// The file to check cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A program of FRR cannot be run.
    #[error("cannot run {program} to check {file}")]
    Ask {
        /// The program.
        program: String,
        /// The file to check.
        file: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// FRR rejects the file.
    #[error("FRR refuses {file}: {}", errors.join("; "))]
    Refused {
        /// The file.
        file: &'static str,
        /// FRR's messages, one per line.
        errors: Vec<String>,
    },
}

/// The name of the file to check. It is always the same, so that a killed agent leaves only one behind.
const CANDIDATE: &str = "frr.conf.tried";

/// Checks the first file of a service: vtysh its grammar, bgpd its meaning. `folder` contains it meanwhile, and FRR's
/// own user must be able to reach it.
pub async fn check(install: &FrrInstallation, folder: &Path, service: &Service) -> Result<(), FrrCheckError> {
    let Some(file) = service.files.first() else { return Ok(()) };
    let failed =
        |program: &str, source| FrrCheckError::Ask { program: program.to_owned(), file: file.name, source };
    let path = folder.join(CANDIDATE);
    let unwritten = |source| FrrCheckError::Write { path: path.clone(), source };
    let copy = TempPath::try_from_path(&path).map_err(unwritten)?;
    // bgpd drops root privileges before it reads.
    let attempt = || {
        let mut candidate = create_fresh(&copy)?;
        candidate.write_all(file.text.as_bytes())?;
        fchown(&candidate, account::user_id("frr"), None)
    };
    attempt().map_err(unwritten)?;
    let bgpd = install.program(FrrDaemon::Bgpd);
    let (grammar, meaning) = tokio::join!(run_check(Path::new("vtysh"), &copy), run_check(&bgpd, &copy));
    let mut errors = vtysh_errors(&grammar.map_err(|error| failed("vtysh", error))?, file, &copy);
    errors.extend(bgpd_errors(&meaning.map_err(|error| failed("bgpd", error))?));
    if errors.is_empty() { Ok(()) } else { Err(FrrCheckError::Refused { file: file.name, errors }) }
}

/// The output of a program that only checks a file, and whether it succeeded.
async fn run_check(program: &Path, file: &Path) -> io::Result<(String, bool)> {
    let mut command = Command::new(program);
    command.args(["-C", "-f"]).arg(file);
    let output = capture(command).await?;
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    Ok((text, output.status.success()))
}

fn vtysh_errors((text, is_valid): &(String, bool), file: &ConfigFile, copy: &Path) -> Vec<String> {
    if *is_valid {
        return Vec::new();
    }
    let text = text.replace(&*copy.to_string_lossy(), file.name);
    let lines = text.lines().map(|line| redact_secrets(line.trim())).filter(|line| !line.is_empty());
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() { vec!["vtysh printed no reason".to_owned()] } else { lines }
}

/// bgpd also reads the lines of other daemons, which it does not know; messages about its own start with `%`.
fn bgpd_errors((text, _): &(String, bool)) -> Vec<String> {
    let own = |line: &&str| line.starts_with('%') && !line.contains("nknown command");
    text.lines().map(str::trim).filter(own).map(redact_secrets).collect()
}
