//! Diagnosis of sessions: the problem and its fix.
//!
//! [`diagnose`] examines a [`Session`] and its context on the node ([`SessionContext`]), from the cable upwards: a notification that closed a
//! session yesterday explains nothing while its port is missing.
//!
//! Not here: polling the daemon and the kernel, which `crates/agent` does.

mod bfd;
mod capability;
mod message;
mod notification;
mod path;

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
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact")]
pub struct SessionContext {
    /// The node's AS number on this session.
    pub own: u32,
    /// The neighbour's AS number; none if any external one is accepted.
    pub asn: Option<u32>,
    /// The configured address families.
    pub families: Vec<Family>,
    /// Whether IPv4 routes need the extended next hop capability.
    pub extended: bool,
    /// Whether BFD is configured.
    pub bfd: bool,
    /// Hold time in seconds.
    pub hold: u16,
    /// Whether the session has a password.
    pub password: bool,
    /// The session is closed above this number of prefixes of one family.
    pub max_prefixes: Option<u32>,
    /// Whether the neighbour opens the connection.
    pub passive: bool,
    /// The port of the neighbour; none for one with a configured address.
    pub port: Option<PortState>,
    /// Whether the kernel has a route to the neighbour's address; none if unknown.
    pub route: Option<bool>,
    /// Another program that writes the same routes, as named by
    /// [`find_conflicting_daemon`](super::conflicting_daemon::find_conflicting_daemon).
    pub conflicting_daemon: Option<String>,
}

/// The state of a fabric port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// Its name.
    pub name: String,
    /// The kernel's link; none while it is missing.
    pub link: Option<Link>,
    /// Its MAC address when the session was last established.
    pub last_mac: Option<Mac>,
    /// Seconds since the last router advertisement; none if there was none.
    pub last_advertisement: Option<u64>,
}

impl SessionContext {
    /// The context of a fabric neighbour according to the model. Facts that only the node knows are unset, and so is
    /// the password of a model without passwords.
    pub fn new(model: &BgpModel, neighbor: &Neighbor) -> Self {
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
            conflicting_daemon: None,
        }
    }
}

type DiagnosisCheck = fn(&Session, &SessionContext) -> Option<Issue>;

/// The checks of an established session, in order.
const ESTABLISHED: &[DiagnosisCheck] = &[capability::diagnose, bfd::path_down, conflicting_daemon];

/// The checks of any other session, in order.
const OTHERWISE: &[DiagnosisCheck] = &[
    conflicting_daemon,
    path::port_down,
    bfd::changed_mac,
    bfd::stale_session,
    path::no_advertisement,
    path::no_route,
    notification::diagnose,
    bfd::path_down,
];

/// The problem of a session; none if it works.
pub fn diagnose(session: &Session, known: &SessionContext) -> Option<Issue> {
    let first_problem = |checks: &[DiagnosisCheck]| checks.iter().find_map(|check| check(session, known));
    if session.is_established() {
        return first_problem(ESTABLISHED);
    }
    Some(first_problem(OTHERWISE).unwrap_or_else(|| message::diagnose(session, known)))
}

fn conflicting_daemon(_: &Session, known: &SessionContext) -> Option<Issue> {
    let conflicting_daemon = known.conflicting_daemon.as_ref()?;
    Some(issue(
        format!("{conflicting_daemon} runs in the node's network and removes routes of other programs"),
        "stop it, or keep it from removing routes (zebra: start it with `-K 60`); until then the agent restores them",
    ))
}

#[cfg(test)]
mod tests;
