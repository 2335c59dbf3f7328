//! Capabilities that an established session lacks.

use super::{SessionContext, issue};
use crate::agent::Session;
use crate::model::Family;
use ichor_values::Issue;

pub(super) fn diagnose(session: &Session, known: &SessionContext) -> Option<Issue> {
    missing_next_hop_capability(session, known).or_else(|| missing_family(session, known))
}

/// IPv4 over IPv6, which needs the capability at both ends.
fn missing_next_hop_capability(session: &Session, known: &SessionContext) -> Option<Issue> {
    let extended = session.extended.filter(|_| known.extended)?;
    let end = match (extended.ours, extended.theirs) {
        (true, true) => return None,
        (true, false) => "the neighbour does",
        (false, true) => "this node does",
        (false, false) => "both ends do",
    };
    Some(issue(
        format!(
            "no IPv4 prefixes over this IPv6 session: {end} not advertise the extended next hop capability"
        ),
        "enable it at both ends (FRR: `neighbor … capability extended-nexthop`)",
    ))
}

fn missing_family(session: &Session, known: &SessionContext) -> Option<Issue> {
    let negotiated = session.families.as_ref()?;
    let missing = known.families.iter().find(|family| !negotiated.contains(family))?;
    let name = match missing {
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
    };
    Some(issue(
        format!("no {name} prefixes: the neighbour has not activated {name} on this session"),
        format!("activate {name} unicast for this node at the other end"),
    ))
}
