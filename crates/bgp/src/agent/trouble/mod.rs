//! Diagnosis of sessions: what is wrong, and how to fix it.
//!
//! [`judge`] examines a [`Session`] and its context on the node ([`SessionContext`]), from the cable upwards: a notification that closed a
//! session yesterday explains nothing while its port is missing.
//!
//! Not here: polling the daemon and the kernel, which `crates/agent` does.

mod bfd;
mod capability;
mod notice;
mod path;
mod words;

use super::{Link, Session};
use crate::model::fabric::{ImportPolicy, Neighbor, PeerAddress};
use crate::model::{BgpModel, Family};
use ichor_values::{Issue, Mac};

/// The problem of a session and its fix. The report names the session, so the issue has no subject.
fn issue(message: impl Into<String>, help: impl Into<String>) -> Issue {
    Issue::error("", message).with_help(help)
}

/// The context of a session on the node: its configuration, its port and its routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub struct SessionContext {
    /// The node's AS number on this session.
    pub own: u32,
    /// The neighbour's AS number; none when any external one will do.
    pub asn: Option<u32>,
    /// The configured address families.
    pub families: Vec<Family>,
    /// Whether IPv4 routes need the extended next hop capability.
    pub extended: bool,
    /// Whether BFD is configured.
    pub bfd: bool,
    /// Hold time in seconds.
    pub hold: u16,
    /// Whether it has a password.
    pub password: bool,
    /// More prefixes of one family than this close the session.
    pub max_prefixes: Option<u32>,
    /// Whether the neighbour connects.
    pub passive: bool,
    /// The port of the neighbour; none for one with a configured address.
    pub port: Option<PortState>,
    /// Whether the kernel has a route to the neighbour's address; none if unknown.
    pub route: Option<bool>,
    /// Another program that writes the same routes, as [`rival`](super::rival::rival) names it.
    pub rival: Option<String>,
}

/// The state of a fabric port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// Its name.
    pub name: String,
    /// The kernel's link; none while it is missing.
    pub link: Option<Link>,
    /// Its MAC address when the session was last established.
    pub was: Option<Mac>,
    /// Seconds since the last router advertisement; none if there was none.
    pub heard: Option<u64>,
}

impl SessionContext {
    /// The context of a fabric neighbour according to the model. What only the node knows is unset, and so is the password of a
    /// model without passwords.
    pub fn of(model: &BgpModel, neighbor: &Neighbor) -> Self {
        let ImportPolicy { max_prefixes, .. } = model.fabric.inward;
        Self {
            own: model.asn.0,
            asn: neighbor.asn.map(|asn| asn.0),
            families: neighbor.families.clone(),
            extended: neighbor.extends_next_hops(),
            bfd: neighbor.bfd.is_some(),
            hold: neighbor.timers.1,
            password: neighbor.password.is_some(),
            max_prefixes,
            passive: neighbor.passive,
            port: match &neighbor.found {
                PeerAddress::Port { name, .. } => {
                    Some(PortState { name: name.to_string(), ..PortState::default() })
                }
                PeerAddress::Address { .. } => None,
            },
            route: None,
            rival: None,
        }
    }
}

type DiagnosisCheck = fn(&Session, &SessionContext) -> Option<Issue>;

/// The checks of an established session, in order.
const ESTABLISHED: &[DiagnosisCheck] = &[capability::judge, bfd::silent, rival];

/// The checks of any other session, in order.
const OTHERWISE: &[DiagnosisCheck] = &[
    rival,
    path::port,
    bfd::moved,
    bfd::stale,
    path::advertisement,
    path::route,
    notice::judge,
    bfd::silent,
];

/// The problem of a session; none if it works.
pub fn judge(session: &Session, known: &SessionContext) -> Option<Issue> {
    let ask = |judges: &[DiagnosisCheck]| judges.iter().find_map(|judge| judge(session, known));
    if session.is_established() {
        return ask(ESTABLISHED);
    }
    Some(ask(OTHERWISE).unwrap_or_else(|| words::judge(session, known)))
}

fn rival(_: &Session, known: &SessionContext) -> Option<Issue> {
    let rival = known.rival.as_ref()?;
    Some(issue(
        format!("{rival} runs in the node's network and removes routes of other programs"),
        "stop it, or keep it from removing routes (zebra: start it with `-K 60`); until then the agent restores them",
    ))
}

#[cfg(test)]
mod tests;
