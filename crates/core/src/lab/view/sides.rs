//! Sessions from both ends.

use super::{Heard, Said, SeenSession, Side};
use crate::lab::scene::{Scene, SessionEnd};
use ichor_bgp::agent::Session;
use ichor_bgp::agent::session::State;
use ichor_values::Issue;

/// Every session of the scene, as its ends tell it.
pub(super) fn sessions(scene: &Scene, heard: &[Heard]) -> Vec<SeenSession> {
    let seen = |meant: &crate::lab::scene::Session| {
        let (one, other) = (side(scene, heard, &meant.one), side(scene, heard, &meant.other));
        let up =
            |side: &Side| side.state == Some(State::Established) && !(meant.bfd && side.bfd == Some(false));
        let stands = (one.is_silent() || up(&one)) && up(&other);
        SeenSession { one, other, stands, fault: meant.fault.clone() }
    };
    scene.sessions.iter().map(seen).collect()
}

fn side(scene: &Scene, heard: &[Heard], end: &SessionEnd) -> Side {
    let blank = Side { name: end.name.clone(), peer: end.peer.clone(), ..Side::default() };
    let heard_of = |name: &str| {
        let nth = scene.machines.iter().position(|machine| machine.name == name)?;
        heard.get(nth)
    };
    if let Some(heard) = heard_of(&end.name) {
        return match &heard.said {
            Err(why) => Side { trouble: Some(why.clone()), ..blank },
            Ok(said) => match said.session(&end.peer) {
                Some((session, trouble)) => told(blank, session, true, trouble),
                None if *said == Said::Here => blank,
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
        Some(Err(why)) => Side { trouble: Some(why.clone()), ..blank },
        None => blank,
    }
}

fn told(blank: Side, session: &Session, sent: bool, trouble: Option<&Issue>) -> Side {
    let said = || session.said.clone().filter(|_| !session.is_established());
    Side {
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

fn unknown(blank: Side) -> Side {
    let trouble = format!("{} knows no neighbour {}", blank.name, blank.peer);
    Side { trouble: Some(trouble), ..blank }
}
