//! What a daemon says where there is no message of the neighbour, and what the state alone tells.

use super::{Known, issue, notice};
use crate::agent::Session;
use crate::agent::session::State;
use ichor_values::Issue;

type Answer = fn(&Session, &Known) -> Issue;

/// What is looked for in the daemon's words, made [`plain`], and who answers.
const SAID: &[(&[&str], Answer)] = &[
    (&["connection refused"], refused),
    (&["no route to host", "unreachable", "waiting for nht", "no path to specified neighbor"], no_way),
    (&["timed out", "timeout"], no_answer),
    (&["connection reset", "connection closed", "read failed"], closed),
    (&["unexpected message", "finite state machine", "invalid msg"], confused),
    (&["bfd"], dead_path),
];

pub(super) fn judge(session: &Session, known: &Known) -> Issue {
    let said = plain(session.said.as_deref().unwrap_or_default());
    let found = SAID.iter().find(|(parts, _)| parts.iter().any(|part| said.contains(part)));
    found.map_or_else(|| by_state(session, known), |(_, answer)| answer(session, known))
}

fn refused(session: &Session, _: &Known) -> Issue {
    issue(
        format!("{} refuses the connection: no BGP listens there", peer(session)),
        "start BGP on the neighbour, and let TCP port 179 through",
    )
}

fn no_way(session: &Session, _: &Known) -> Issue {
    issue(
        format!("no route to {}", peer(session)),
        "give the node an address in the neighbour's network, or a static route to it",
    )
}

/// A TCP segment with a wrong signature (RFC 2385) is dropped without an answer.
fn no_answer(session: &Session, known: &Known) -> Issue {
    let peer = peer(session);
    if known.password {
        return issue(format!("{peer} does not answer: the passwords may differ"), notice::PASSWORD);
    }
    issue(
        format!("{peer} does not answer on TCP port 179"),
        "look whether it has the session, whether it wants a password, and what filters the port",
    )
}

fn closed(session: &Session, known: &Known) -> Issue {
    issue(
        format!("{} closes the connection at once", peer(session)),
        format!(
            "look there: it has no session with this node's address, expects another AS than {}, or was shut down",
            known.own
        ),
    )
}

pub(super) fn confused(session: &Session, known: &Known) -> Issue {
    let own = known.own;
    issue(
        format!(
            "{} closed the session while it was being set up; most often it does not expect AS {own}",
            peer(session)
        ),
        format!("look at both ends' AS numbers (this node: {own}), router ids and families"),
    )
}

fn dead_path(_: &Session, _: &Known) -> Issue {
    issue(
        "BFD found the path to the neighbour dead",
        "look at the path; where only one end has BFD, switch it on at the other too, or off at both",
    )
}

fn by_state(session: &Session, known: &Known) -> Issue {
    let peer = peer(session);
    match session.state {
        State::Idle if session.said.is_none() => no_way(session, known),
        State::Connect => no_answer(session, known),
        State::Active if known.passive => {
            issue(format!("{peer} has not connected"), "look whether the other end has the session and runs")
        }
        State::OpenSent => issue(
            format!("{peer} took the connection and says nothing"),
            "look whether the daemon at the other end hangs, and at the MTU of the path",
        ),
        State::OpenConfirm => {
            issue(format!("{peer} does not confirm the session"), "look at the log of the other end")
        }
        _ => {
            let said = session.said.as_deref().map(|said| format!(": {said}")).unwrap_or_default();
            issue(
                format!("{peer} has not taken the connection{said}"),
                "look whether BGP runs there, has a session with this node's address, and lets TCP port 179 through",
            )
        }
    }
}

fn peer(session: &Session) -> &str {
    session.address.as_deref().unwrap_or(&session.peer)
}

/// A daemon's words in lower case; GoBGP joins its own by hyphens.
pub(super) fn plain(said: &str) -> String {
    said.to_lowercase().replace('-', " ")
}
