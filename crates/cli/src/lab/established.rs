//! Which sessions of a lab are established, as its daemons tell.

use std::collections::BTreeSet;

use ichor_core::lab::scene::{LabSession, LabSessionEnd, MachineRole};

use super::{Lab, collect};

/// The numbers of the sessions that are established.
pub(crate) fn established_sessions(lab: &Lab) -> BTreeSet<usize> {
    let scene = lab.scene();
    let mut up = BTreeSet::new();
    for (nth, machine) in scene.machines.iter().enumerate() {
        let own = |(_, session): &(usize, &LabSession)| queried_end(lab, session).name == machine.name;
        let mut mine = scene.sessions.iter().enumerate().filter(own).peekable();
        let said = mine.peek().and_then(|_| collect::query_daemon(lab, nth).ok());
        let is_up = |(_, session): &(usize, &LabSession)| {
            let told = said.as_ref().and_then(|said| said.session(&queried_end(lab, session).peer));
            told.is_some_and(|(session, _)| session.is_established())
        };
        up.extend(mine.filter(is_up).map(|(nth, _)| nth));
    }
    up
}

/// The end of a session that is asked: the first, unless nobody sees into it.
fn queried_end<'l>(lab: &'l Lab, session: &'l LabSession) -> &'l LabSessionEnd {
    let is_guest = |name: &str| {
        let machine = lab.scene().machines.iter().find(|machine| machine.name == name);
        machine.is_some_and(|machine| matches!(machine.part, MachineRole::Guest(_)))
    };
    if is_guest(&session.one.name) { &session.other } else { &session.one }
}
