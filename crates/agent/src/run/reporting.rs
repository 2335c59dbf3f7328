//! What the agent reports and to whom: the status, its endpoints, and the health check behind anycast addresses.

use ichor_bgp::agent::config;
use ichor_bgp::agent::config::{AgentConfig, ConfigSource, Health};
use ichor_bgp::agent::gate::Position;
use ichor_bgp::agent::status::{Anycast, Stage, Status};
use ichor_bgp::agent::stood::Stood;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::diagnosis::Processes;
use crate::health;
use crate::serve::tls::{TlsConfig, TlsError, TlsListener};
use ichor_system::now;

/// The status, and the tasks that serve it and that check health.
pub(super) struct Reporting {
    /// What is reported now.
    pub status: watch::Sender<Status>,
    /// The gate of anycast addresses.
    pub anycast: watch::Sender<Anycast>,
    /// The daemon's processes and their restarts.
    pub processes: Processes,
    /// The MAC address with which each session was last established.
    pub last_macs: Stood,
    health_check: Option<(Health, JoinHandle<()>)>,
    endpoint: Option<(config::Status, JoinHandle<()>)>,
}

impl Reporting {
    /// Nothing is checked or served yet; the gate of anycast addresses is at `gate`.
    pub(super) fn new(config: &AgentConfig, gate: Position) -> Self {
        Self {
            status: watch::Sender::new(initial_status(config)),
            anycast: watch::Sender::new(Anycast { gate, reason: None }),
            processes: Processes::default(),
            last_macs: Stood::default(),
            health_check: None,
            endpoint: None,
        }
    }

    /// Checks health as `wanted` says from now on.
    pub(super) fn set_health_check(&mut self, wanted: Option<&Health>) {
        if self.health_check.as_ref().map(|(health, _)| health) == wanted {
            return;
        }
        if let Some((_, check)) = self.health_check.take() {
            check.abort();
        }
        self.health_check = wanted.cloned().map(|health| {
            let gate = self.anycast.borrow().gate;
            let check = tokio::spawn(health::watch(health.clone(), gate, self.anycast.clone()));
            (health, check)
        });
    }

    /// Serves the status over mutual TLS as `wanted` says from now on. An endpoint that cannot be opened leaves the one before.
    pub(super) async fn set_endpoint(&mut self, wanted: Option<&config::Status>) -> Result<(), TlsError> {
        if self.endpoint.as_ref().map(|(status, _)| status) == wanted {
            return Ok(());
        }
        let config = wanted.map(TlsConfig::read).transpose()?;
        if let Some((_, serving)) = self.endpoint.take() {
            // The port is free when the task has ended.
            serving.abort();
            let _ = serving.await;
        }
        if let (Some(wanted), Some(config)) = (wanted, config) {
            let serving = tokio::spawn(TlsListener::open(config)?.serve(self.status.subscribe()));
            self.endpoint = Some((wanted.clone(), serving));
        }
        Ok(())
    }
}

/// The status of an agent that has done nothing.
pub(super) fn initial_status(config: &AgentConfig) -> Status {
    let node = match &config.source {
        ConfigSource::Model(meant) => meant.model.name.to_string(),
        ConfigSource::Files(_) => String::new(),
    };
    Status {
        time: now(),
        node,
        agent: env!("CARGO_PKG_VERSION").to_owned(),
        backend: config.backend,
        version: None,
        stage: Stage::Starting,
        reason: None,
        waiting: Vec::new(),
        sessions: Vec::new(),
        anycast: None,
        daemons: Vec::new(),
        reload: None,
        restored: 0,
    }
}
