//! Whether a node's routing works.

use super::{Stage, Status, With};

/// Why a node's routing does not work, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HealthError {
    /// The agent just started.
    #[error("starting{}{}", if waiting.is_empty() { "" } else { ": " }, waiting.join("; "))]
    Starting {
        /// What it waits for.
        waiting: Vec<String>,
    },
    /// A program of the daemon is stuck, or ended.
    #[error("{program} does not {}", if *is_running { "answer" } else { "run" })]
    Daemon {
        /// The program.
        program: String,
        /// Whether there is a process of it.
        is_running: bool,
    },
    /// Every session with the fabric is down.
    #[error("no session with the fabric stands: {}", reasons.join("; "))]
    Sessions {
        /// Each session, and why it is down.
        reasons: Vec<String>,
    },
}

impl Status {
    /// Says why the node's routing does not work, in one line.
    ///
    /// It works when the daemon answers and at least one session with the fabric stands, or none is meant.
    pub fn health(&self) -> Result<(), HealthError> {
        if self.stage == Stage::Starting {
            return Err(HealthError::Starting { waiting: self.waiting.clone() });
        }
        if let Some(daemon) = self.daemons.iter().find(|daemon| !daemon.answers) {
            return Err(HealthError::Daemon {
                program: daemon.name.clone(),
                is_running: daemon.pid.is_some(),
            });
        }
        let fabric: Vec<_> = self.sessions.iter().filter(|told| told.with == With::Fabric).collect();
        if fabric.is_empty() || fabric.iter().any(|told| told.session.is_established()) {
            return Ok(());
        }
        let reasons = fabric
            .iter()
            .map(|told| {
                let why = told
                    .trouble
                    .as_ref()
                    .map_or_else(|| told.session.state.to_string(), |it| it.message.clone());
                format!("{}: {why}", told.session.peer)
            })
            .collect();
        Err(HealthError::Sessions { reasons })
    }
}
