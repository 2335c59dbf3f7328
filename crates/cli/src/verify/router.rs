//! What a router says of its sessions, over ssh.

use std::process::Stdio;
use std::time::Duration;

use ichor_bgp::agent::Session;
use ichor_bgp::agent::frr;
use ichor_bgp::agent::frr::NEIGHBORS;
use ichor_core::probe::ProbeError;
use ichor_core::verify::Known;
use tokio::process::Command;
use tokio::time;

use crate::disk;

/// How long a router may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// The sessions of a router with FRR. Nobody is asked for a password: what is not known beforehand is no way in.
pub(super) async fn sessions(ssh: &str) -> Known<Vec<Session>> {
    let mut command = Command::new("ssh");
    command.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "--", ssh]);
    command.arg(format!("vtysh -c '{NEIGHBORS}'"));
    command.stdin(Stdio::null()).kill_on_drop(true);
    let failed = |reason: String| Err(ProbeError::new(reason));
    let output = match time::timeout(PATIENCE, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return failed(format!("cannot run ssh: {}", disk::reason(&error))),
        Err(_) => return failed(format!("no answer by `ssh {ssh}` within {} s", PATIENCE.as_secs())),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().lines().last().unwrap_or("it said nothing").to_owned();
        return failed(format!("`ssh {ssh}` failed: {said}"));
    }
    frr::sessions(&String::from_utf8_lossy(&output.stdout), None).map_err(ProbeError::new)
}
