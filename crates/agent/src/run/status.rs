//! The status: polling daemon and kernel, and reporting what changed.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ichor_bgp::agent::Session;
use ichor_bgp::agent::status::{AgentStage, AgentStatus, SessionStatus, changes};
use ichor_bgp::setting::LogLevel;

use super::agent::Agent;
use super::diagnosis::DiagnosisContext;
use super::host::Host;
use super::reporting::initial_status;
use super::state_dir::ROUTERS;
use crate::log;
use ichor_system::now;

impl<H: Host> Agent<H> {
    /// Polls the daemon, publishes the status, and logs what changed in it.
    pub(super) async fn refresh_status(&mut self) {
        let report = self.host.poll_daemon(self.config.backend).await;
        self.reporting.processes.update(&report.processes, report.sessions.is_some(), now());
        let before = self.reporting.status.borrow().clone();
        let sessions = report.sessions.unwrap_or_default();
        let sessions = self.diagnose_sessions(sessions, report.conflicting, &before).await;
        let after = self.status(sessions);
        self.reporting.status.send_replace(after.clone());
        let changes = changes(&before, &after);
        for change in &changes {
            match change.level {
                LogLevel::Error => log::error(change),
                LogLevel::Warn => log::warn(change),
                LogLevel::Info => log::info(change),
                LogLevel::Debug => log::debug(change),
            }
        }
        if changes.iter().any(|change| change.level != LogLevel::Debug) {
            println!("{}", after.line());
        }
    }

    fn status(&self, sessions: Vec<SessionStatus>) -> AgentStatus {
        let (stage, reason) = self.stage();
        let waiting =
            self.daemon.desired.iter().flat_map(|desired| &desired.waiting).map(ToString::to_string);
        AgentStatus {
            time: now(),
            version: self.daemon.version.as_ref().map(ToString::to_string),
            stage,
            reason,
            waiting: waiting.chain(self.failures.iter().cloned()).collect(),
            sessions,
            anycast: self.config.health.as_ref().map(|_| self.reporting.anycast.borrow().clone()),
            daemons: self.reporting.processes.all(),
            reload: self.daemon.reload.clone(),
            restored: self.daemon.restored,
            ..initial_status(&self.config)
        }
    }

    /// The sessions, each with its problem according to daemon, kernel and ports.
    async fn diagnose_sessions(
        &mut self,
        sessions: Vec<Session>,
        conflicting: Option<String>,
        before: &AgentStatus,
    ) -> Vec<SessionStatus> {
        let reachable = self.reachability(&sessions).await;
        let context = DiagnosisContext {
            desired: self.daemon.desired.as_ref(),
            links: &self.links,
            last_advertisements: self
                .routers
                .advertisements
                .iter()
                .map(|(port, (_, at))| (port.clone(), *at))
                .collect(),
            conflicting,
            reachable,
        };
        let statuses = context.diagnose(sessions, before, &mut self.reporting.last_macs);
        if self.routers.known.update(&statuses) {
            self.state_dir.store(ROUTERS, &self.routers.known.established);
        }
        statuses
    }

    /// Whether the kernel has a route to each neighbour whose session is not established.
    async fn reachability(&mut self, sessions: &[Session]) -> BTreeMap<IpAddr, bool> {
        let mut reachable = BTreeMap::new();
        for session in sessions.iter().filter(|session| !session.is_established() && session.domain.is_none())
        {
            if let Ok(address) = session.peer.parse()
                && let Ok(has_route) = self.host.has_route_to(address).await
            {
                reachable.insert(address, has_route);
            }
        }
        reachable
    }

    fn stage(&self) -> (AgentStage, Option<String>) {
        if let Some(leaving) = *self.leaving.borrow() {
            return (AgentStage::Leaving, Some(leaving.to_string()));
        }
        if self.config.drain {
            return (AgentStage::Draining, Some("`drain` is set in the configuration".to_owned()));
        }
        (if self.daemon.is_started { AgentStage::Running } else { AgentStage::Starting }, None)
    }
}
