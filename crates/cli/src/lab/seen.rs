//! Which sessions of a lab are established, as its daemons tell.

use std::collections::BTreeSet;

use ichor_core::lab::scene::{Part, Session, SessionEnd};

use super::{Lab, ask};

/// The numbers of the sessions that are established.
pub(crate) fn established(lab: &Lab) -> BTreeSet<usize> {
    let scene = lab.scene();
    let mut up = BTreeSet::new();
    for (nth, machine) in scene.machines.iter().enumerate() {
        let own = |(_, session): &(usize, &Session)| teller(lab, session).name == machine.name;
        let mut mine = scene.sessions.iter().enumerate().filter(own).peekable();
        let said = mine.peek().and_then(|_| ask::said(lab, nth).ok());
        let stands = |(_, session): &(usize, &Session)| {
            let told = said.as_ref().and_then(|said| said.session(&teller(lab, session).peer));
            told.is_some_and(|(session, _)| session.is_established())
        };
        up.extend(mine.filter(stands).map(|(nth, _)| nth));
    }
    up
}

/// The end of a session that is asked: the first, unless nobody sees into it.
fn teller<'l>(lab: &'l Lab, session: &'l Session) -> &'l SessionEnd {
    let is_guest = |name: &str| {
        let machine = lab.scene().machines.iter().find(|machine| machine.name == name);
        machine.is_some_and(|machine| matches!(machine.part, Part::Guest(_)))
    };
    if is_guest(&session.one.name) { &session.other } else { &session.one }
}
