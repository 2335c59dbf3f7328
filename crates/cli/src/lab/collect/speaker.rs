//! A speaker, by GoBGP's own client: its API is gRPC, for which nothing else in this program has a use.

use ichor_bgp::agent::Session;
use ichor_core::lab::view::speaker;
use ichor_system::program::ProgramRun;

use super::CollectError;
use crate::lab::{Lab, PATIENCE, services};

/// What the speaker of a machine says of its sessions.
pub(super) fn query_sessions(lab: &Lab, machine: usize, now: u64) -> Result<Vec<Session>, CollectError> {
    let target = format!("unix://{}", services::SPEAKER);
    let mut command = lab.enter(machine);
    command.args(["gobgp", "--target", &target, "--json", "neighbor"]);
    let output = ProgramRun::new(command, PATIENCE).run();
    let output = output.map_err(|error| CollectError::Gobgp(error.into()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&[&output.stderr[..], &output.stdout].concat()).trim().to_owned();
        return Err(CollectError::Speaker(said.lines().next().unwrap_or_default().to_owned()));
    }
    Ok(speaker::sessions(&output.stdout_text(), now)?)
}
