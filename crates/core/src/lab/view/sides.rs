//! Sessions from both ends.

use super::{DaemonReport, LabSessionStatus, MachineReport, SessionEndStatus};
use crate::lab::scene::{LabSessionEnd, LabTopology};
use ichor_bgp::agent::Session;
use ichor_bgp::agent::session::SessionState;
use ichor_values::Issue;

/// Every session of the scene, as its ends tell it.
pub(super) fn sessions(scene: &LabTopology, heard: &[MachineReport]) -> Vec<LabSessionStatus> {
    let seen = |meant: &crate::lab::scene::LabSession| {
        let (one, other) = (side(scene, heard, &meant.one), side(scene, heard, &meant.other));
        let up = |side: &SessionEndStatus| {
            side.state == Some(SessionState::Established) && !(meant.bfd && side.bfd == Some(false))
        };
        let stands = (one.is_silent() || up(&one)) && up(&other);
        LabSessionStatus { one, other, stands, fault: meant.fault.clone() }
    };
    scene.sessions.iter().map(seen).collect()
}

fn side(scene: &LabTopology, heard: &[MachineReport], end: &LabSessionEnd) -> SessionEndStatus {
    let blank =
        SessionEndStatus { name: end.name.clone(), peer: end.peer.clone(), ..SessionEndStatus::default() };
    let heard_of = |name: &str| {
        let nth = scene.machines.iter().position(|machine| machine.name == name)?;
        heard.get(nth)
    };
    if let Some(heard) = heard_of(&end.name) {
        return match &heard.said {
            Err(error) => SessionEndStatus { trouble: Some(error.to_string()), ..blank },
            Ok(said) => match said.session(&end.peer) {
                Some((session, trouble)) => told(blank, session, true, trouble),
                None if *said == DaemonReport::Here => blank,
                None => unknown(blank),
            },
        };
    }
    // A speaker is called by the node it is on.
    match end.name.split(':').next().and_then(|node| heard_of(node)?.speaker.as_ref()) {
        Some(Ok(sessions)) => match sessions.iter().find(|session| session.peer == end.peer) {
            Some(session) => told(blank, session, false, None),
            None => unknown(blank),
        },
        Some(Err(error)) => SessionEndStatus { trouble: Some(error.to_string()), ..blank },
        None => blank,
    }
}

fn told(blank: SessionEndStatus, session: &Session, sent: bool, trouble: Option<&Issue>) -> SessionEndStatus {
    let said = || session.said.clone().filter(|_| !session.is_established());
    SessionEndStatus {
        state: Some(session.state),
        uptime: session.uptime,
        received: Some(session.received),
        sent: sent.then_some(session.sent),
        bfd: session.bfd,
        trouble: trouble.map(|it| it.message.clone()).or_else(said),
        remedy: trouble.and_then(|it| it.help.clone()),
        ..blank
    }
}

fn unknown(blank: SessionEndStatus) -> SessionEndStatus {
    let trouble = format!("{} knows no neighbour {}", blank.name, blank.peer);
    SessionEndStatus { trouble: Some(trouble), ..blank }
}
