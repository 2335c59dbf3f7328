//! The status, its endpoints, and the health check behind anycast addresses.

use ichor_bgp::agent::config;
use ichor_bgp::agent::config::{AgentConfig, ConfigSource, HealthCheck};
use ichor_bgp::agent::health_gate::GateState;
use ichor_bgp::agent::last_mac::LastMacs;
use ichor_bgp::agent::status::{AgentStage, AgentStatus, AnycastStatus};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::diagnosis::DaemonProcesses;
use crate::health;
use crate::serve::tls::{TlsConfig, TlsError, TlsListener};
use ichor_system::now;

/// The status, and the tasks that serve it and that check health.
pub(super) struct Reporting {
    /// The current status.
    pub status: watch::Sender<AgentStatus>,
    /// Whether anycast addresses are announced.
    pub anycast: watch::Sender<AnycastStatus>,
    /// The daemon's processes and their restarts.
    pub processes: DaemonProcesses,
    /// The MAC address with which each session was last established.
    pub last_macs: LastMacs,
    health_check: Option<(HealthCheck, JoinHandle<()>)>,
    endpoint: Option<(config::StatusListener, JoinHandle<()>)>,
}

impl Reporting {
    /// Starts without checking or serving anything. `gate` is the stored state of the health gate.
    pub(super) fn new(config: &AgentConfig, gate: GateState) -> Self {
        Self {
            status: watch::Sender::new(initial_status(config)),
            anycast: watch::Sender::new(AnycastStatus { gate, reason: None }),
            processes: DaemonProcesses::default(),
            last_macs: LastMacs::default(),
            health_check: None,
            endpoint: None,
        }
    }

    /// Replaces the health check by `wanted`.
    pub(super) fn set_health_check(&mut self, wanted: Option<&HealthCheck>) {
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

    /// Replaces the endpoint with mutual TLS by `wanted`. With an invalid configuration the previous endpoint stays.
    pub(super) async fn set_endpoint(
        &mut self,
        wanted: Option<&config::StatusListener>,
    ) -> Result<(), TlsError> {
        if self.endpoint.as_ref().map(|(status, _)| status) == wanted {
            return Ok(());
        }
        let config = wanted.map(TlsConfig::read).transpose()?;
        if let Some((_, serving)) = self.endpoint.take() {
            // The port is free once the task has ended.
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

/// The status of an agent that has just started.
pub(super) fn initial_status(config: &AgentConfig) -> AgentStatus {
    let node = match &config.source {
        ConfigSource::Model(bgp) => bgp.model.name.to_string(),
        ConfigSource::Files(_) => String::new(),
    };
    AgentStatus {
        time: now(),
        node,
        agent: env!("CARGO_PKG_VERSION").to_owned(),
        backend: config.backend,
        version: None,
        stage: AgentStage::Starting,
        reason: None,
        waiting: Vec::new(),
        sessions: Vec::new(),
        anycast: None,
        daemons: Vec::new(),
        reload: None,
        restored: 0,
    }
}
