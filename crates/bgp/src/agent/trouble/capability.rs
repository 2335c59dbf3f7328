//! Capabilities that an established session lacks.

use super::{SessionContext, issue};
use crate::agent::Session;
use crate::model::Family;
use ichor_values::Issue;

pub(super) fn judge(session: &Session, known: &SessionContext) -> Option<Issue> {
    extended(session, known).or_else(|| family(session, known))
}

/// IPv4 over IPv6, which needs the capability at both ends.
fn extended(session: &Session, known: &SessionContext) -> Option<Issue> {
    let extended = session.extended.filter(|_| known.extended)?;
    let who = match (extended.ours, extended.theirs) {
        (true, true) => return None,
        (true, false) => "the neighbour does",
        (false, true) => "this node does",
        (false, false) => "both ends do",
    };
    Some(issue(
        format!(
            "no IPv4 prefixes over this IPv6 session: {who} not advertise the extended next hop capability"
        ),
        "enable it at both ends (FRR: `neighbor … capability extended-nexthop`)",
    ))
}

fn family(session: &Session, known: &SessionContext) -> Option<Issue> {
    let agreed = session.families.as_ref()?;
    let missing = known.families.iter().find(|family| !agreed.contains(family))?;
    let name = match missing {
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
    };
    Some(issue(
        format!("no {name} prefixes: the neighbour has not activated {name} on this session"),
        format!("activate {name} unicast for this node at the other end"),
    ))
}
