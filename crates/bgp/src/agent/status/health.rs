//! Whether a node's routing works.

use super::{AgentStage, AgentStatus, PeerRole};

/// Why a node's routing is not healthy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HealthError {
    /// The agent is starting.
    #[error("starting{}{}", if waiting.is_empty() { "" } else { ": " }, waiting.join("; "))]
    Starting {
        /// The missing conditions.
        waiting: Vec<String>,
    },
    /// A program of the daemon hangs or has ended.
    #[error("{program} {}", if *is_running { "does not respond" } else { "is not running" })]
    Daemon {
        /// The program.
        program: String,
        /// Whether it has a process.
        is_running: bool,
    },
    /// Every fabric session is down.
    #[error("no fabric session is established: {}", reasons.join("; "))]
    Sessions {
        /// Each session, and why it is down.
        reasons: Vec<String>,
    },
}

impl AgentStatus {
    /// Checks whether the node's routing works; the error is one line.
    ///
    /// It works if the daemon responds and at least one fabric session is established, or none is configured.
    pub fn health(&self) -> Result<(), HealthError> {
        if self.stage == AgentStage::Starting {
            return Err(HealthError::Starting { waiting: self.waiting.clone() });
        }
        if let Some(daemon) = self.daemons.iter().find(|daemon| !daemon.answers) {
            return Err(HealthError::Daemon {
                program: daemon.name.clone(),
                is_running: daemon.pid.is_some(),
            });
        }
        let fabric: Vec<_> = self.sessions.iter().filter(|status| status.with == PeerRole::Fabric).collect();
        if fabric.is_empty() || fabric.iter().any(|status| status.session.is_established()) {
            return Ok(());
        }
        let reasons = fabric
            .iter()
            .map(|status| {
                let why = status
                    .trouble
                    .as_ref()
                    .map_or_else(|| status.session.state.to_string(), |it| it.message.clone());
                format!("{}: {why}", status.session.peer)
            })
            .collect();
        Err(HealthError::Sessions { reasons })
    }
}
