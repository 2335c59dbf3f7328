//! A speaker, by GoBGP's own client: its API is gRPC, for which nothing else in this program has a use.

use std::io;

use ichor_bgp::agent::Session;
use ichor_core::lab::view::speaker;
use ichor_core::probe::ProbeError;
use ichor_system::program::ProgramRun;

use crate::lab::{Lab, PATIENCE, services};

/// What the speaker of a machine says of its sessions.
pub(super) fn ask(lab: &Lab, machine: usize, now: u64) -> Result<Vec<Session>, ProbeError> {
    let target = format!("unix://{}", services::SPEAKER);
    let mut command = lab.enter(machine);
    command.args(["gobgp", "--target", &target, "--json", "neighbor"]);
    let output = ProgramRun::new(command, PATIENCE).run();
    let output = output.map_err(|error| ProbeError::new(format!("gobgp: {}", io::Error::from(error))))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&[&output.stderr[..], &output.stdout].concat()).trim().to_owned();
        let reason = said.lines().next().unwrap_or_default();
        return Err(ProbeError::new(format!("the speaker does not answer: {reason}")));
    }
    speaker::sessions(&output.stdout_text(), now).map_err(ProbeError::new)
}
