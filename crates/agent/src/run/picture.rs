//! The state of the node, put together from what daemon, kernel and Talos say.

use std::collections::BTreeMap;

use ichor_core::agent::scene::Scene;
use ichor_core::agent::status::{Daemon, Status, Told, With};
use ichor_core::agent::trouble::{Known, judge};
use ichor_core::agent::{Link, Session};
use ichor_core::moment::Moment;
use ichor_core::routing::fabric::{Found, Neighbor};
use ichor_core::routing::{Model, Workload};
use tokio::time::Instant;

/// Processes of the daemon, and how it was with them.
#[derive(Debug, Default)]
pub(super) struct Processes(BTreeMap<&'static str, Daemon>);

impl Processes {
    /// Takes in what runs now.
    pub(super) fn see(&mut self, running: &[(&'static str, Option<u32>)], answers: bool, now: Moment) {
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

/// What is told of sessions, each with what is wrong with it. A better reason of a moment before is kept.
pub(super) fn sessions(
    scene: Option<&Scene>,
    sessions: Vec<Session>,
    before: &Status,
    links: &[Link],
    heard: &BTreeMap<String, Instant>,
) -> Vec<Told> {
    let model = scene.and_then(|scene| scene.model.as_ref());
    let told = |mut session: Session| {
        let same = |was: &&Told| (&was.session.peer, &was.session.domain) == (&session.peer, &session.domain);
        if let Some(was) = before.sessions.iter().find(same) {
            session.remember(&was.session);
        }
        told(model, session, links, heard)
    };
    sessions.into_iter().map(told).collect()
}

fn told(model: Option<&Model>, session: Session, links: &[Link], heard: &BTreeMap<String, Instant>) -> Told {
    let Some(model) = model else { return Told { session, with: With::Fabric, trouble: None } };
    let speaker = model.workload.as_ref().filter(|workload| is_speaker(workload, &session));
    if let Some(workload) = speaker {
        let trouble = judge(&session, &of_speaker(workload));
        return Told { session, with: With::Speaker, trouble };
    }
    let neighbor = model.fabric.neighbors.iter().find(|neighbor| is(neighbor, &session));
    let trouble = neighbor.and_then(|neighbor| judge(&session, &of_neighbor(model, neighbor, links, heard)));
    Told { session, with: With::Fabric, trouble }
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

fn of_neighbor(
    model: &Model,
    neighbor: &Neighbor,
    links: &[Link],
    heard: &BTreeMap<String, Instant>,
) -> Known {
    let mut known = Known::of(model, neighbor);
    if let Some(port) = &mut known.port {
        port.link = links.iter().find(|link| link.name == port.name).cloned();
        port.heard = heard.get(&port.name).map(|at| at.elapsed().as_secs());
    }
    known
}
