//! Sessions as reported by both ends.

use super::{DaemonReport, LabSessionStatus, MachineReport, SessionEndStatus};
use crate::lab::topology::{LabSessionEnd, LabTopology};
use ichor_bgp::agent::Session;
use ichor_bgp::agent::session::SessionState;
use ichor_values::Issue;

/// Every session of the topology, as reported by its ends.
pub(super) fn session_statuses(topology: &LabTopology, reports: &[MachineReport]) -> Vec<LabSessionStatus> {
    let status = |session: &crate::lab::topology::LabSession| {
        let one = end_status(topology, reports, &session.one);
        let other = end_status(topology, reports, &session.other);
        let is_up = |end: &SessionEndStatus| {
            end.state == Some(SessionState::Established) && !(session.bfd && end.bfd == Some(false))
        };
        let up = (one.is_unknown() || is_up(&one)) && is_up(&other);
        LabSessionStatus { one, other, up, fault: session.fault.clone() }
    };
    topology.sessions.iter().map(status).collect()
}

fn end_status(topology: &LabTopology, reports: &[MachineReport], end: &LabSessionEnd) -> SessionEndStatus {
    let blank =
        SessionEndStatus { name: end.name.clone(), peer: end.peer.clone(), ..SessionEndStatus::default() };
    let report_of = |name: &str| {
        let nth = topology.machines.iter().position(|machine| machine.name == name)?;
        reports.get(nth)
    };
    if let Some(report) = report_of(&end.name) {
        return match &report.daemon {
            Err(error) => SessionEndStatus { trouble: Some(error.to_string()), ..blank },
            Ok(daemon) => match daemon.find_session(&end.peer) {
                Some((session, trouble)) => fill_status(blank, session, true, trouble),
                None if *daemon == DaemonReport::Opaque => blank,
                None => unknown_neighbour(blank),
            },
        };
    }
    // The name of a speaker begins with its node's.
    match end.name.split(':').next().and_then(|node| report_of(node)?.speaker.as_ref()) {
        Some(Ok(sessions)) => match sessions.iter().find(|session| session.peer == end.peer) {
            Some(session) => fill_status(blank, session, false, None),
            None => unknown_neighbour(blank),
        },
        Some(Err(error)) => SessionEndStatus { trouble: Some(error.to_string()), ..blank },
        None => blank,
    }
}

fn fill_status(
    blank: SessionEndStatus,
    session: &Session,
    sent: bool,
    trouble: Option<&Issue>,
) -> SessionEndStatus {
    let last_error = || session.said.clone().filter(|_| !session.is_established());
    SessionEndStatus {
        state: Some(session.state),
        uptime: session.uptime,
        received: Some(session.received),
        sent: sent.then_some(session.sent),
        bfd: session.bfd,
        trouble: trouble.map(|it| it.message.clone()).or_else(last_error),
        remedy: trouble.and_then(|it| it.help.clone()),
        ..blank
    }
}

fn unknown_neighbour(blank: SessionEndStatus) -> SessionEndStatus {
    let trouble = format!("{} has no neighbour {}", blank.name, blank.peer);
    SessionEndStatus { trouble: Some(trouble), ..blank }
}
