//! BGP sessions of routers, over SSH.

use std::io;
use std::process::Command;
use std::time::Duration;

use ichor_bgp::agent::Session;
use ichor_bgp::agent::frr;
use ichor_bgp::agent::frr::NEIGHBORS;
use ichor_core::probe::ProbeError;
use ichor_core::verify::Probed;
use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};

use crate::disk;

/// Time limit for a router.
const SSH_TIMEOUT: Duration = Duration::from_secs(15);

/// Queries the sessions of an FRR router. SSH runs in batch mode, without password prompts.
pub(super) async fn query_sessions(ssh: &str) -> Probed<Vec<Session>> {
    let mut command = Command::new("ssh");
    command.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "--", ssh]);
    command.arg(format!("vtysh -c '{NEIGHBORS}'"));
    let ran =
        ProgramRun::new(command, SSH_TIMEOUT).run_async().await.and_then(ProgramOutput::require_success);
    let output = ran.map_err(|error| {
        ProbeError::new(match error {
            ProgramError::TimedOut { .. } => {
                format!("`ssh {ssh}` timed out after {} s", SSH_TIMEOUT.as_secs())
            }
            ProgramError::Failed(output) => {
                let message = output.stderr_text();
                format!("`ssh {ssh}` failed: {}", message.trim().lines().last().unwrap_or("no error output"))
            }
            error => format!("cannot run ssh: {}", disk::io_reason(&io::Error::from(error))),
        })
    })?;
    frr::sessions(&output.stdout_text(), None).map_err(ProbeError::new)
}
