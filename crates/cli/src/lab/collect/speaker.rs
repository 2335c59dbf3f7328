//! Queries a speaker with GoBGP's command-line client, which saves a gRPC client for this single use.

use ichor_bgp::agent::Session;
use ichor_core::lab::status::speaker;
use ichor_system::program::ProgramRun;

use super::CollectError;
use crate::lab::{Lab, PATIENCE, services};

/// Queries the sessions of a machine's speaker.
pub(super) fn query_sessions(lab: &Lab, machine: usize, now: u64) -> Result<Vec<Session>, CollectError> {
    let target = format!("unix://{}", services::SPEAKER);
    let mut command = lab.enter_netns(machine);
    command.args(["gobgp", "--target", &target, "--json", "neighbor"]);
    let output = ProgramRun::new(command, PATIENCE).run();
    let output = output.map_err(|error| CollectError::Gobgp(error.into()))?;
    if !output.status.success() {
        let message =
            String::from_utf8_lossy(&[&output.stderr[..], &output.stdout].concat()).trim().to_owned();
        return Err(CollectError::Speaker(message.lines().next().unwrap_or_default().to_owned()));
    }
    Ok(speaker::parse_sessions(&output.stdout_text(), now)?)
}
