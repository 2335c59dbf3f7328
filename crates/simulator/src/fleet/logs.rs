//! The logs and files of a simulated node.

use super::call_error::{CallError, ErrorCode};
use super::machine::{Machine, Phase};
use super::routing::{self, SessionFaults};
use super::simulation::Fleet;

impl Fleet {
    /// The kernel log, as Talos formats it.
    pub(crate) fn dmesg(&self, nth: usize) -> Vec<String> {
        let lines = self.machines[nth].log_lines().iter();
        lines.map(|(at, words)| format!("user: warning: [{}]: {words}", self.moment(*at))).collect()
    }

    /// The log of a service.
    pub(crate) fn logs(&self, nth: usize, id: &str) -> Result<Vec<String>, CallError> {
        let machine = &self.machines[nth];
        let service = machine.services().into_iter().find(|service| service.id == id);
        let Some(service) = service else {
            return Err(CallError::new(ErrorCode::Unknown, format!("log \"{id}\" was not registered")));
        };
        let mut lines = vec![format!("{id} is {} (simulated)", service.state.to_lowercase())];
        let duty = machine.intent.as_ref().and_then(|intent| intent.duties.get(id));
        let duty = duty.filter(|_| service.is_running() && machine.phase == Phase::Up);
        let cut = SessionFaults {
            fabric: machine.faults.has("session-down"),
            speaker: machine.faults.has("speaker-down"),
        };
        lines.extend(duty.map(|duty| routing::status(duty, &machine.hostname(), self.epoch, cut).line()));
        Ok(lines)
    }

    /// A file of the node.
    pub fn file(&self, nth: usize, path: &str) -> Result<String, CallError> {
        let machine = &self.machines[nth];
        match path {
            "/proc/sys/kernel/random/boot_id" => Ok(format!("{}\n", boot_id(machine))),
            "/proc/cmdline" => Ok("talos.platform=metal console=tty0\n".to_owned()),
            _ => Err(CallError::new(ErrorCode::NotFound, format!("stat {path}: no such file or directory"))),
        }
    }
}

/// The error of asking for a resource that a node does not have.
pub(crate) fn no_such_resource(namespace: &str, kind: &str, id: &str) -> CallError {
    let message = format!("resource {kind}({namespace}/{id}@undefined) doesn't exist");
    CallError::new(ErrorCode::NotFound, message)
}

/// Another one in every run.
fn boot_id(machine: &Machine) -> String {
    format!("{}-{:012x}", &machine.hardware.uuid[..23], machine.boots)
}
