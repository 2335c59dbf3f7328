//! What FRR itself says of a configuration, before anything is changed. It only reads.

use std::io::{self, Write as _};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ichor_core::reload::{Daemon, without_secret};
use ichor_core::render::routing::{File, Service};
use tempfile::NamedTempFile;
use tokio::process::Command;
use tokio::time::timeout;

use super::place::Place;
use crate::daemon::account;

const PATIENCE: Duration = Duration::from_secs(10);

/// Why a configuration is not taken.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
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

/// Shows the first file of a service to vtysh, for its grammar, and to bgpd, for its meaning.
pub async fn check(place: &Place, service: &Service) -> Result<(), CheckError> {
    let Some(file) = service.files.first() else { return Ok(()) };
    let failed =
        |program: &str, source| CheckError::Ask { program: program.to_owned(), file: file.name, source };
    // For its owner alone, and gone with the variable. bgpd gives up the rights of root before it reads. On a node, nothing else
    // can be written to.
    let attempt = || {
        let mut copy = NamedTempFile::new_in(place.run())?;
        copy.write_all(file.text.as_bytes())?;
        copy.flush()?;
        chown(copy.path(), account::user("frr"), None)?;
        Ok(copy)
    };
    let copy = attempt().map_err(|error| failed("vtysh", error))?;
    let bgpd = place.program(Daemon::Bgpd);
    let (grammar, meaning) = tokio::join!(said(Path::new("vtysh"), copy.path()), said(&bgpd, copy.path()));
    let mut complaints = of_vtysh(&grammar.map_err(|error| failed("vtysh", error))?, file, copy.path());
    complaints.extend(of_bgpd(&meaning.map_err(|error| failed("bgpd", error))?));
    if complaints.is_empty() { Ok(()) } else { Err(CheckError::Refused { file: file.name, complaints }) }
}

/// What a program that only checks a file says, and whether it ended well.
async fn said(program: &Path, file: &Path) -> io::Result<(String, bool)> {
    let mut command = Command::new(program);
    command.args(["-C", "-f"]).arg(file).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(PATIENCE, command.output()).await;
    let output = output.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    Ok((text, output.status.success()))
}

fn of_vtysh((text, well): &(String, bool), file: &File, copy: &Path) -> Vec<String> {
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
