//! What FRR itself says of a configuration, before anything is changed. It only reads.

use std::io::{self, Write as _};
use std::os::unix::fs::fchown;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichor_bgp::reload::{FrrDaemon, without_secret};
use ichor_bgp::render::{ConfigFile, Service};
use ichor_system::file::create_fresh;
use tempfile::TempPath;

use super::place::FrrInstallation;
use crate::daemon::account;
use crate::daemon::process::ask;

/// Why a configuration is not taken.
#[derive(Debug, thiserror::Error)]
pub enum FrrCheckError {
    /// The file that FRR is asked about could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// FRR was not asked.
    #[error("cannot ask {program} about {file}")]
    Ask {
        /// Who.
        program: String,
        /// What.
        file: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// FRR says no.
    #[error("FRR refuses {file}: {}", complaints.join("; "))]
    Refused {
        /// What.
        file: &'static str,
        /// What it says, every line of it.
        complaints: Vec<String>,
    },
}

/// The file that FRR is asked about. Its name is always the same, so that one of an agent that was killed does not stay.
const TRIED: &str = "frr.conf.tried";

/// Shows the first file of a service to vtysh, for its grammar, and to bgpd, for its meaning. `folder` has it meanwhile: FRR's own
/// user must be able to reach it.
pub async fn check(install: &FrrInstallation, folder: &Path, service: &Service) -> Result<(), FrrCheckError> {
    let Some(file) = service.files.first() else { return Ok(()) };
    let failed =
        |program: &str, source| FrrCheckError::Ask { program: program.to_owned(), file: file.name, source };
    let path = folder.join(TRIED);
    let unwritten = |source| FrrCheckError::Write { path: path.clone(), source };
    let copy = TempPath::try_from_path(&path).map_err(unwritten)?;
    // bgpd gives up the rights of root before it reads.
    let attempt = || {
        let mut tried = create_fresh(&copy)?;
        tried.write_all(file.text.as_bytes())?;
        fchown(&tried, account::user("frr"), None)
    };
    attempt().map_err(unwritten)?;
    let bgpd = install.program(FrrDaemon::Bgpd);
    let (grammar, meaning) = tokio::join!(said(Path::new("vtysh"), &copy), said(&bgpd, &copy));
    let mut complaints = of_vtysh(&grammar.map_err(|error| failed("vtysh", error))?, file, &copy);
    complaints.extend(of_bgpd(&meaning.map_err(|error| failed("bgpd", error))?));
    if complaints.is_empty() { Ok(()) } else { Err(FrrCheckError::Refused { file: file.name, complaints }) }
}

/// What a program that only checks a file says, and whether it ended well.
async fn said(program: &Path, file: &Path) -> io::Result<(String, bool)> {
    let mut command = Command::new(program);
    command.args(["-C", "-f"]).arg(file);
    let output = ask(command).await?;
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    Ok((text, output.status.success()))
}

fn of_vtysh((text, well): &(String, bool), file: &ConfigFile, copy: &Path) -> Vec<String> {
    if *well {
        return Vec::new();
    }
    let text = text.replace(&*copy.to_string_lossy(), file.name);
    let lines = text.lines().map(|line| without_secret(line.trim())).filter(|line| !line.is_empty());
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() { vec!["vtysh does not say why".to_owned()] } else { lines }
}

/// bgpd reads the lines of other daemons too, and does not know them; what it says of its own starts with `%`.
fn of_bgpd((text, _): &(String, bool)) -> Vec<String> {
    let own = |line: &&str| line.starts_with('%') && !line.contains("nknown command");
    text.lines().map(str::trim).filter(own).map(without_secret).collect()
}
