//! The daemon's error message, for sessions without a notification; else the state of the session.

use super::{SessionContext, issue, notification};
use crate::agent::Session;
use crate::agent::session::SessionState;
use ichor_values::Issue;

type IssueBuilder = fn(&Session, &SessionContext) -> Issue;

/// Parts of a daemon's [normalized](normalize) message, and the issue that each indicates.
const MESSAGES: &[(&[&str], IssueBuilder)] = &[
    (&["connection refused"], connection_refused),
    (&["no route to host", "unreachable", "waiting for nht", "no path to specified neighbor"], no_route),
    (&["timed out", "timeout"], no_answer),
    (&["connection reset", "connection closed", "read failed"], connection_closed),
    (&["unexpected message", "finite state machine", "invalid msg"], unexpected_message),
    (&["bfd"], bfd_down),
];

pub(super) fn diagnose(session: &Session, known: &SessionContext) -> Issue {
    let said = normalize(session.said.as_deref().unwrap_or_default());
    let found = MESSAGES.iter().find(|(parts, _)| parts.iter().any(|part| said.contains(part)));
    found.map_or_else(|| diagnose_state(session, known), |(_, answer)| answer(session, known))
}

fn connection_refused(session: &Session, _: &SessionContext) -> Issue {
    issue(
        format!("{} refuses the connection: BGP is not listening there", peer(session)),
        "start BGP on the neighbour, and allow TCP port 179",
    )
}

fn no_route(session: &Session, _: &SessionContext) -> Issue {
    issue(
        format!("no route to {}", peer(session)),
        "give the node an address in the neighbour's subnet, or a static route to it",
    )
}

/// A TCP segment with a wrong signature (RFC 2385) is dropped without an answer.
fn no_answer(session: &Session, known: &SessionContext) -> Issue {
    let peer = peer(session);
    if known.password {
        return issue(format!("{peer} does not answer: the passwords may differ"), notification::PASSWORD);
    }
    issue(
        format!("{peer} does not answer on TCP port 179"),
        "check whether the session is configured there, whether it needs a password, and whether a firewall blocks the port",
    )
}

fn connection_closed(session: &Session, known: &SessionContext) -> Issue {
    issue(
        format!("{} closes the connection immediately", peer(session)),
        format!(
            "check its configuration: no session with this node's address, another AS than {}, or shut down",
            known.own
        ),
    )
}

pub(super) fn unexpected_message(session: &Session, known: &SessionContext) -> Issue {
    let own = known.own;
    issue(
        format!("{} closed the session during setup; most often it does not expect AS {own}", peer(session)),
        format!("compare AS numbers (this node: {own}), router ids and address families of both ends"),
    )
}

fn bfd_down(_: &Session, _: &SessionContext) -> Issue {
    issue(
        "BFD reported the path to the neighbour as down",
        "check the path; if only one end has BFD, enable it at the other, or disable it at both",
    )
}

fn diagnose_state(session: &Session, known: &SessionContext) -> Issue {
    let peer = peer(session);
    match session.state {
        SessionState::Idle if session.said.is_none() => no_route(session, known),
        SessionState::Connect => no_answer(session, known),
        // FRR also calls it Idle for some seconds after the other end has closed it.
        SessionState::Idle | SessionState::Active if known.passive => {
            issue(format!("{peer} has not connected"), "check whether the other end has the session and runs")
        }
        SessionState::OpenSent => issue(
            format!("{peer} accepted the connection and sent no OPEN message"),
            "check whether the daemon at the other end hangs, and the MTU of the path",
        ),
        SessionState::OpenConfirm => {
            issue(format!("{peer} does not confirm the session"), "check the log of the other end")
        }
        _ => {
            let said = session.said.as_deref().map(|said| format!(": {said}")).unwrap_or_default();
            issue(
                format!("{peer} has not accepted the connection{said}"),
                "check whether BGP runs there, has a session with this node's address, and allows TCP port 179",
            )
        }
    }
}

fn peer(session: &Session) -> &str {
    session.address.as_deref().unwrap_or(&session.peer)
}

/// A daemon's message in lower case and without hyphens, by which GoBGP joins words.
pub(super) fn normalize(said: &str) -> String {
    said.to_lowercase().replace('-', " ")
}
