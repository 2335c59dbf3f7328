//! Looking at daemon and kernel, and telling what is new.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ichor_bgp::agent::Session;
use ichor_bgp::agent::status::{Stage, Status, Told, changes};
use ichor_bgp::setting::LogLevel;

use super::agent::{Agent, chain, nothing, now};
use super::folder::ROUTERS;
use super::picture::Surroundings;
use crate::daemon::Any;
use crate::kernel::rival;
use crate::say;

impl Agent {
    /// Looks at the daemon and tells what is new.
    pub(super) async fn look(&mut self) {
        let (sessions, answers) = match &self.daemon {
            Some(daemon) => match daemon.sessions().await {
                Ok(sessions) => (sessions, true),
                Err(error) => {
                    say::debug(chain(&error));
                    (Vec::new(), false)
                }
            },
            None => (Vec::new(), false),
        };
        let running = self.daemon.as_ref().map(Any::daemons).unwrap_or_default();
        self.processes.see(&running, answers, now());
        let before = self.status.borrow().clone();
        let sessions = self.judge(sessions, &before).await;
        let (stage, reason) = self.stage();
        let waiting = self.scene.iter().flat_map(|scene| &scene.waiting).map(ToString::to_string);
        let after = Status {
            time: now(),
            version: self.version.as_ref().map(ToString::to_string),
            stage,
            reason,
            waiting: waiting.chain(self.hindered.iter().cloned()).collect(),
            sessions,
            anycast: self.duty.health.as_ref().map(|_| self.anycast.borrow().clone()),
            daemons: self.processes.all(),
            reload: self.reload.clone(),
            restored: self.restored,
            ..nothing(&self.duty)
        };
        self.status.send_replace(after.clone());
        let changes = changes(&before, &after);
        for change in &changes {
            match change.level {
                LogLevel::Error => say::error(change),
                LogLevel::Warn => say::warn(change),
                LogLevel::Info => say::info(change),
                LogLevel::Debug => say::debug(change),
            }
        }
        if changes.iter().any(|change| change.level != LogLevel::Debug) {
            println!("{}", after.line());
        }
    }

    /// What is told of sessions: with what the kernel knows of the way to each.
    async fn judge(&mut self, sessions: Vec<Session>, before: &Status) -> Vec<Told> {
        let surroundings = Surroundings {
            scene: self.scene.as_ref(),
            links: &self.links,
            heard: self.routers.iter().map(|(port, (_, at))| (port.clone(), *at)).collect(),
            rival: self.rival(),
            ways: self.ways(&sessions).await,
        };
        let told = surroundings.tell(sessions, before, &mut self.stood);
        if self.named.see(&told) {
            self.folder.keep(ROUTERS, &self.named.stood);
        }
        told
    }

    /// Another program that takes away this daemon's routes.
    fn rival(&self) -> Option<String> {
        let own = self.daemon.as_ref().and_then(Any::writer);
        rival(self.duty.backend, own.as_deref())
    }

    /// Whether the kernel knows a way to neighbours whose sessions do not stand.
    async fn ways(&self, sessions: &[Session]) -> BTreeMap<IpAddr, bool> {
        let mut ways = BTreeMap::new();
        for session in sessions.iter().filter(|session| !session.is_established() && session.domain.is_none())
        {
            if let Ok(address) = session.peer.parse()
                && let Ok(leads) = self.kernel.leads_to(address).await
            {
                ways.insert(address, leads);
            }
        }
        ways
    }

    fn stage(&self) -> (Stage, Option<String>) {
        if let Some(leaving) = *self.leaving.borrow() {
            return (Stage::Leaving, Some(leaving.to_string()));
        }
        if self.duty.drain {
            return (Stage::Draining, Some("the configuration says so".to_owned()));
        }
        (if self.daemon.is_some() { Stage::Running } else { Stage::Starting }, None)
    }
}
