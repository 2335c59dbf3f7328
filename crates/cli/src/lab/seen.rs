//! Which sessions of a lab are established, as its daemons tell.

use std::collections::BTreeSet;

use ichor_core::lab::scene::Session;

use super::{Lab, ask};

/// The numbers of the sessions that are established.
pub(crate) fn established(lab: &Lab) -> BTreeSet<usize> {
    let scene = lab.scene();
    let mut up = BTreeSet::new();
    for (nth, machine) in scene.machines.iter().enumerate() {
        let own = |(_, session): &(usize, &Session)| session.one.name == machine.name;
        let mut mine = scene.sessions.iter().enumerate().filter(own).peekable();
        let said = mine.peek().and_then(|_| ask::said(lab, nth).ok());
        let stands = |(_, session): &(usize, &Session)| {
            let told = said.as_ref().and_then(|said| said.session(&session.one.peer));
            told.is_some_and(|(session, _)| session.is_established())
        };
        up.extend(mine.filter(stands).map(|(nth, _)| nth));
    }
    up
}
