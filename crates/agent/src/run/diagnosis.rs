//! Diagnosis of sessions, from the reports of daemon, kernel and ports.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ichor_bgp::agent::desired_state::DesiredState;
use ichor_bgp::agent::diagnosis::{SessionContext, diagnose};
use ichor_bgp::agent::last_mac::LastMacs;
use ichor_bgp::agent::status::{AgentStatus, DaemonStatus, PeerRole, SessionStatus};
use ichor_bgp::agent::{Link, Session};
use ichor_bgp::model::fabric::{Neighbor, PeerAddress};
use ichor_bgp::model::{BgpModel, Workload};
use ichor_values::Moment;
use tokio::time::Instant;

/// The daemon's processes and their restarts.
#[derive(Debug, Default)]
pub(super) struct DaemonProcesses(BTreeMap<&'static str, DaemonStatus>);

impl DaemonProcesses {
    /// Records the running processes.
    pub(super) fn update(&mut self, running: &[(&'static str, Option<u32>)], answers: bool, now: Moment) {
        self.0.retain(|name, _| running.iter().any(|(running, _)| running == name));
        for &(name, pid) in running {
            let fresh =
                DaemonStatus { name: name.to_owned(), pid: None, answers: false, restarts: 0, since: now };
            let known = self.0.entry(name).or_insert(fresh);
            if known.pid != pid {
                known.restarts += u32::from(known.pid.is_some() && pid.is_some());
                known.since = now;
                known.pid = pid;
            }
            known.answers = answers && pid.is_some();
        }
    }

    pub(super) fn all(&self) -> Vec<DaemonStatus> {
        self.0.values().cloned().collect()
    }
}

/// The state of the node for diagnosing its sessions.
pub(super) struct DiagnosisContext<'a> {
    /// The applied state.
    pub desired: Option<&'a DesiredState>,
    /// The kernel's links.
    pub links: &'a [Link],
    /// When the last router advertisement was received on each port.
    pub last_advertisements: BTreeMap<String, Instant>,
    /// A conflicting routing daemon.
    pub conflicting: Option<String>,
    /// Addresses, and whether the kernel has a route to them.
    pub reachable: BTreeMap<IpAddr, bool>,
}

impl DiagnosisContext<'_> {
    /// Diagnoses the sessions. A more precise reason in the previous status is kept.
    pub(super) fn diagnose(
        &self,
        sessions: Vec<Session>,
        before: &AgentStatus,
        last_macs: &mut LastMacs,
    ) -> Vec<SessionStatus> {
        let status_of = |mut session: Session| {
            let same = |was: &&SessionStatus| {
                (&was.session.peer, &was.session.domain) == (&session.peer, &session.domain)
            };
            if let Some(was) = before.sessions.iter().find(same) {
                session.keep_notification(&was.session);
            }
            self.diagnose_session(session, last_macs)
        };
        sessions.into_iter().map(status_of).collect()
    }

    fn diagnose_session(&self, session: Session, last_macs: &mut LastMacs) -> SessionStatus {
        let Some(model) = self.desired.and_then(|desired| desired.model.as_ref()) else {
            return SessionStatus { session, with: PeerRole::Fabric, trouble: None };
        };
        let load_balancer = model.workload.as_ref().filter(|workload| is_load_balancer(workload, &session));
        if let Some(workload) = load_balancer {
            let trouble = diagnose(&session, &load_balancer_context(workload));
            return SessionStatus { session, with: PeerRole::Speaker, trouble };
        }
        let neighbor = model.fabric.neighbors.iter().find(|neighbor| is_session_of(neighbor, &session));
        let trouble = neighbor.and_then(|neighbor| {
            diagnose(&session, &self.session_context(model, neighbor, &session, last_macs))
        });
        SessionStatus { session, with: PeerRole::Fabric, trouble }
    }

    /// The context of a fabric session.
    fn session_context(
        &self,
        model: &BgpModel,
        neighbor: &Neighbor,
        session: &Session,
        last_macs: &mut LastMacs,
    ) -> SessionContext {
        let mut known = SessionContext::new(model, neighbor);
        known.conflicting_daemon.clone_from(&self.conflicting);
        if let PeerAddress::Address { address, .. } = &neighbor.found {
            known.route = self.reachable.get(address).copied();
        }
        if let Some(port) = &mut known.port {
            port.link = self.links.iter().find(|link| link.name == port.name).cloned();
            port.last_advertisement =
                self.last_advertisements.get(&port.name).map(|at| at.elapsed().as_secs());
            port.link.iter().for_each(|link| last_macs.update(&neighbor.found, link, session));
            port.last_mac = last_macs.mac(&neighbor.found);
        }
        known
    }
}

fn is_load_balancer(workload: &Workload, session: &Session) -> bool {
    let address = workload.theirs.address.to_string();
    session.peer == address || session.address.as_ref() == Some(&address)
}

fn is_session_of(neighbor: &Neighbor, session: &Session) -> bool {
    match &neighbor.found {
        PeerAddress::Port { name, .. } => session.peer == name.as_str(),
        PeerAddress::Address { address, .. } => session.peer == address.to_string(),
    }
}

fn load_balancer_context(workload: &Workload) -> SessionContext {
    SessionContext {
        own: workload.ours.asn.0,
        asn: Some(workload.theirs.asn.0),
        families: workload.families.clone(),
        extended: workload.extends_next_hops(),
        bfd: workload.bfd.is_some(),
        hold: workload.timers.1,
        passive: true,
        ..SessionContext::default()
    }
}
