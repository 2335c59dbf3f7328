//! What is wrong with sessions, from what daemon, kernel and ports report.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ichor_bgp::agent::scene::Scene;
use ichor_bgp::agent::status::{Daemon, Status, Told, With};
use ichor_bgp::agent::stood::Stood;
use ichor_bgp::agent::trouble::{Known, judge};
use ichor_bgp::agent::{Link, Session};
use ichor_bgp::model::fabric::{Found, Neighbor};
use ichor_bgp::model::{Model, Workload};
use ichor_values::Moment;
use tokio::time::Instant;

/// The daemon's processes and their restarts.
#[derive(Debug, Default)]
pub(super) struct Processes(BTreeMap<&'static str, Daemon>);

impl Processes {
    /// Records what runs now.
    pub(super) fn update(&mut self, running: &[(&'static str, Option<u32>)], answers: bool, now: Moment) {
        self.0.retain(|name, _| running.iter().any(|(running, _)| running == name));
        for &(name, pid) in running {
            let fresh = Daemon { name: name.to_owned(), pid: None, answers: false, restarts: 0, since: now };
            let known = self.0.entry(name).or_insert(fresh);
            if known.pid != pid {
                known.restarts += u32::from(known.pid.is_some() && pid.is_some());
                known.since = now;
                known.pid = pid;
            }
            known.answers = answers && pid.is_some();
        }
    }

    pub(super) fn all(&self) -> Vec<Daemon> {
        self.0.values().cloned().collect()
    }
}

/// What the node knows when it diagnoses its sessions.
pub(super) struct DiagnosisContext<'a> {
    /// What is applied.
    pub desired: Option<&'a Scene>,
    /// The kernel's links.
    pub links: &'a [Link],
    /// When a router was last heard on each port.
    pub heard: BTreeMap<String, Instant>,
    /// Another program that writes the same routes.
    pub conflicting: Option<String>,
    /// Addresses, and whether the kernel has a route to them.
    pub reachable: BTreeMap<IpAddr, bool>,
}

impl DiagnosisContext<'_> {
    /// The sessions, each with what is wrong with it. A more precise reason of a moment before is kept.
    pub(super) fn diagnose(
        &self,
        sessions: Vec<Session>,
        before: &Status,
        last_macs: &mut Stood,
    ) -> Vec<Told> {
        let told = |mut session: Session| {
            let same =
                |was: &&Told| (&was.session.peer, &was.session.domain) == (&session.peer, &session.domain);
            if let Some(was) = before.sessions.iter().find(same) {
                session.remember(&was.session);
            }
            self.told(session, last_macs)
        };
        sessions.into_iter().map(told).collect()
    }

    fn told(&self, session: Session, last_macs: &mut Stood) -> Told {
        let Some(model) = self.desired.and_then(|desired| desired.model.as_ref()) else {
            return Told { session, with: With::Fabric, trouble: None };
        };
        let speaker = model.workload.as_ref().filter(|workload| is_speaker(workload, &session));
        if let Some(workload) = speaker {
            let trouble = judge(&session, &of_speaker(workload));
            return Told { session, with: With::Speaker, trouble };
        }
        let neighbor = model.fabric.neighbors.iter().find(|neighbor| is(neighbor, &session));
        let trouble =
            neighbor.and_then(|neighbor| judge(&session, &self.of(model, neighbor, &session, last_macs)));
        Told { session, with: With::Fabric, trouble }
    }

    /// What is known of the session with a neighbour in the fabric.
    fn of(&self, model: &Model, neighbor: &Neighbor, session: &Session, last_macs: &mut Stood) -> Known {
        let mut known = Known::of(model, neighbor);
        known.rival.clone_from(&self.conflicting);
        if let Found::Address { address, .. } = &neighbor.found {
            known.route = self.reachable.get(address).copied();
        }
        if let Some(port) = &mut known.port {
            port.link = self.links.iter().find(|link| link.name == port.name).cloned();
            port.heard = self.heard.get(&port.name).map(|at| at.elapsed().as_secs());
            port.link.iter().for_each(|link| last_macs.see(&neighbor.found, link, session));
            port.was = last_macs.mac(&neighbor.found);
        }
        known
    }
}

fn is_speaker(workload: &Workload, session: &Session) -> bool {
    let address = workload.theirs.address.to_string();
    session.peer == address || session.address.as_ref() == Some(&address)
}

fn is(neighbor: &Neighbor, session: &Session) -> bool {
    match &neighbor.found {
        Found::Port { name, .. } => session.peer == name.as_str(),
        Found::Address { address, .. } => session.peer == address.to_string(),
    }
}

fn of_speaker(workload: &Workload) -> Known {
    Known {
        own: workload.ours.asn.0,
        asn: Some(workload.theirs.asn.0),
        families: workload.families.clone(),
        extended: workload.extends_next_hops(),
        bfd: workload.bfd.is_some(),
        hold: workload.timers.1,
        passive: true,
        ..Known::default()
    }
}
