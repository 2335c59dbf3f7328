//! Established sessions of a lab, as reported by its daemons.

use std::collections::BTreeSet;

use ichor_core::lab::topology::{LabSession, LabSessionEnd, MachineRole};

use super::{Lab, collect};

/// Indices of the established sessions.
pub(crate) fn established_sessions(lab: &Lab) -> BTreeSet<usize> {
    let topology = lab.topology();
    let mut up = BTreeSet::new();
    for (nth, machine) in topology.machines.iter().enumerate() {
        let is_queried_here =
            |(_, session): &(usize, &LabSession)| queried_end(lab, session).name == machine.name;
        let mut sessions = topology.sessions.iter().enumerate().filter(is_queried_here).peekable();
        let report = sessions.peek().and_then(|_| collect::query_daemon(lab, nth).ok());
        let is_up = |(_, session): &(usize, &LabSession)| {
            let found =
                report.as_ref().and_then(|report| report.find_session(&queried_end(lab, session).peer));
            found.is_some_and(|(session, _)| session.is_established())
        };
        up.extend(sessions.filter(is_up).map(|(nth, _)| nth));
    }
    up
}

/// The end of a session to query: the first, unless it is a VM, which cannot be queried.
fn queried_end<'l>(lab: &'l Lab, session: &'l LabSession) -> &'l LabSessionEnd {
    let is_guest = |name: &str| {
        let machine = lab.topology().machines.iter().find(|machine| machine.name == name);
        machine.is_some_and(|machine| matches!(machine.part, MachineRole::Guest(_)))
    };
    if is_guest(&session.one.name) { &session.other } else { &session.one }
}
