//! Whether a node's routing works.

use super::{Stage, Status, With};

impl Status {
    /// Says why the node's routing does not work, in one line.
    ///
    /// It works when the daemon answers and at least one session with the fabric stands, or none is meant.
    pub fn health(&self) -> Result<(), String> {
        if self.stage == Stage::Starting {
            let waiting = if self.waiting.is_empty() {
                String::new()
            } else {
                format!(": {}", self.waiting.join("; "))
            };
            return Err(format!("starting{waiting}"));
        }
        if let Some(daemon) = self.daemons.iter().find(|daemon| !daemon.answers) {
            return Err(format!(
                "{} does not {}",
                daemon.name,
                if daemon.pid.is_some() { "answer" } else { "run" }
            ));
        }
        let fabric: Vec<_> = self.sessions.iter().filter(|told| told.with == With::Fabric).collect();
        if fabric.is_empty() || fabric.iter().any(|told| told.session.is_established()) {
            return Ok(());
        }
        let each: Vec<_> = fabric
            .iter()
            .map(|told| {
                let why = told
                    .trouble
                    .as_ref()
                    .map_or_else(|| told.session.state.to_string(), |it| it.message.clone());
                format!("{}: {why}", told.session.peer)
            })
            .collect();
        Err(format!("no session with the fabric stands: {}", each.join("; ")))
    }
}
