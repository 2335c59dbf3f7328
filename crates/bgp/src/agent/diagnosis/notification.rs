//! The notification that closed a session.

use super::message::{self, normalize};
use super::{SessionContext, issue};
use crate::agent::Session;
use crate::agent::session::Notification;
use ichor_values::Issue;

/// Names of errors (RFC 4271, RFC 4486 and others) as FRR, BIRD and GoBGP print them, [normalized](normalize).
const NAMES: &[(&str, (u8, u8))] = &[
    ("bad peer as", (2, 2)),
    ("bad bgp identifier", (2, 3)),
    ("authentication failure", (2, 5)),
    ("unacceptable hold time", (2, 6)),
    ("required capability missing", (2, 7)),
    ("unsupported capability", (2, 7)),
    ("hold timer expired", (4, 0)),
    ("maximum number of prefixes reached", (6, 1)),
    ("route limit exceeded", (6, 1)),
    ("administrative shutdown", (6, 2)),
    ("administratively shutdown", (6, 2)),
    ("peer de configured", (6, 3)),
    ("peer unconfigured", (6, 3)),
    ("connection rejected", (6, 5)),
];

pub(super) fn diagnose(session: &Session, known: &SessionContext) -> Option<Issue> {
    let notification = session.notification.or_else(|| parse_message(session.said.as_deref()?))?;
    let peer = &session.peer;
    let Notification { code, subcode, sent } = notification;
    let (what, remedy) = match (code, subcode) {
        (2, 2) => return Some(wrong_as(session, known, sent)),
        (2, 3) => (
            format!("{peer} and this node have the same router id"),
            "give each router a different router id".to_owned(),
        ),
        (2, 5) => ("the passwords at the two ends differ".to_owned(), PASSWORD.to_owned()),
        (2, 6) => (
            format!("the hold time of {} s is not acceptable to one end", known.hold),
            "configure at least 3 seconds at both ends".to_owned(),
        ),
        (2, 7) => (
            "the two ends have no address family in common, or one requires a capability that the other lacks".to_owned(),
            format!("activate {} for this session at the other end", families(known)),
        ),
        (4, _) => (
            format!("{} received nothing for the hold time{}", if sent { "this node" } else { peer }, seconds(known)),
            "check the path, its MTU and the load of both ends; BFD detects a failed path faster".to_owned(),
        ),
        // FRR sends it when both ends connect at once and one of them rejects the other's OPEN.
        (5, _) => return Some(message::unexpected_message(session, known)),
        (6, 1) => return Some(too_many(session, known, sent)),
        (6, 2) if sent => ("shut down on this node".to_owned(), "end the drain, or let the agent restore its configuration".to_owned()),
        (6, 2) => (format!("shut down at {peer}"), "ask the operator of that router: it was shut down there on purpose".to_owned()),
        // GoBGP also sends it when it ends.
        (6, 3) if !sent && known.passive => (
            format!("{peer} closed the session: it stopped, or no longer has the session in its configuration"),
            "check whether the other end has the session and runs".to_owned(),
        ),
        (6, 3) => (
            format!("{} no longer has the session in its configuration", if sent { "this node" } else { peer }),
            format!("configure AS {} there", known.own),
        ),
        (6, 5) if !sent => (
            format!("{peer} rejects the connection"),
            format!("check whether it expects AS {} from this node's address, and how many sessions it allows", known.own),
        ),
        _ => return None,
    };
    Some(issue(what, remedy))
}

pub(super) const PASSWORD: &str = "configure the same password at both ends, or none at both";

fn wrong_as(session: &Session, known: &SessionContext, sent: bool) -> Issue {
    let (peer, own) = (&session.peer, known.own);
    if !sent {
        return issue(
            format!("wrong AS: {peer} does not expect AS {own} from this node"),
            format!(
                "configure `remote-as {own}` (or `external`) for this node there, or change `routing.asn` of this node"
            ),
        );
    }
    match known.asn {
        Some(asn) => issue(
            format!("wrong AS: {peer} is not in AS {asn}"),
            "set this neighbour's real AS number in the cluster file",
        ),
        None => issue(
            format!("wrong AS: {peer} is in AS {own}, as this node is"),
            "give the node a different AS number: fabric sessions are external",
        ),
    }
}

fn too_many(session: &Session, known: &SessionContext, sent: bool) -> Issue {
    let peer = &session.peer;
    if !sent {
        return issue(
            format!("{peer} allows fewer prefixes than this node announces, and closed the session"),
            "raise its limit for this node, or announce fewer prefixes",
        );
    }
    let limit = known.max_prefixes.map(|limit| format!(" than {limit}")).unwrap_or_default();
    issue(
        format!("{peer} announces more prefixes{limit}, so the session was closed"),
        "raise `policy.in.max_prefixes`, or announce fewer prefixes on the leaf: a default route is enough for most nodes",
    )
}

fn families(known: &SessionContext) -> String {
    let names: Vec<_> =
        known.families.iter().map(|family| format!("IP{}", format!("{family:?}").to_lowercase())).collect();
    if names.is_empty() { "a common family".to_owned() } else { names.join(" and ") }
}

fn seconds(known: &SessionContext) -> String {
    if known.hold == 0 { String::new() } else { format!(" of {} s", known.hold) }
}

/// The notification that a daemon's message names. Only BIRD reports the sender; with other daemons the node counts as the sender.
fn parse_message(said: &str) -> Option<Notification> {
    // GoBGP's pause between two connection attempts is not the hold timer.
    let text = normalize(said).replace("idle hold timer expired", "");
    let (_, (code, subcode)) = *NAMES.iter().find(|(name, _)| text.contains(name))?;
    Some(Notification { code, subcode, sent: !text.contains("received") })
}
