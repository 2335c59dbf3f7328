//! What the two ends of a session that stands did not agree on.

use super::{Known, issue};
use crate::agent::Session;
use crate::model::Family;
use ichor_values::Issue;

pub(super) fn judge(session: &Session, known: &Known) -> Option<Issue> {
    extended(session, known).or_else(|| family(session, known))
}

/// IPv4 over IPv6, which is silently not there unless both ends can do it.
fn extended(session: &Session, known: &Known) -> Option<Issue> {
    let extended = session.extended.filter(|_| known.extended)?;
    let who = match (extended.ours, extended.theirs) {
        (true, true) => return None,
        (true, false) => "the neighbour does",
        (false, true) => "this node does",
        (false, false) => "both ends do",
    };
    Some(issue(
        format!("no IPv4 prefixes over this IPv6 session: {who} not offer the extended next hop capability"),
        "switch it on at both ends (FRR: `neighbor … capability extended-nexthop`)",
    ))
}

fn family(session: &Session, known: &Known) -> Option<Issue> {
    let agreed = session.families.as_ref()?;
    let missing = known.families.iter().find(|family| !agreed.contains(family))?;
    let name = match missing {
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
    };
    Some(issue(
        format!("no {name} prefixes: the neighbour does not have that family on this session"),
        format!("activate {name} unicast for this node at the other end"),
    ))
}
