//! What a router says of its sessions, over ssh.

use std::io;
use std::process::Command;
use std::time::Duration;

use ichor_bgp::agent::Session;
use ichor_bgp::agent::frr;
use ichor_bgp::agent::frr::NEIGHBORS;
use ichor_core::probe::ProbeError;
use ichor_core::verify::Known;
use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};

use crate::disk;

/// How long a router may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// The sessions of a router with FRR. Nobody is asked for a password: what is not known beforehand is no way in.
pub(super) async fn sessions(ssh: &str) -> Known<Vec<Session>> {
    let mut command = Command::new("ssh");
    command.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "--", ssh]);
    command.arg(format!("vtysh -c '{NEIGHBORS}'"));
    let ran = ProgramRun::new(command, PATIENCE).run_async().await.and_then(ProgramOutput::succeeded);
    let output = ran.map_err(|error| {
        ProbeError::new(match error {
            ProgramError::TimedOut { .. } => {
                format!("no answer by `ssh {ssh}` within {} s", PATIENCE.as_secs())
            }
            ProgramError::Failed(output) => {
                let said = output.stderr_text();
                format!("`ssh {ssh}` failed: {}", said.trim().lines().last().unwrap_or("it said nothing"))
            }
            error => format!("cannot run ssh: {}", disk::reason(&io::Error::from(error))),
        })
    })?;
    frr::sessions(&output.stdout_text(), None).map_err(ProbeError::new)
}
