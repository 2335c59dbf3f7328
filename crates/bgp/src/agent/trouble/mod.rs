//! Why a session is not what it should be, in plain words, and what helps.
//!
//! [`judge`] looks at a [`Session`] and at what the node knows of its surroundings ([`Known`]). Causes are looked for from the cable
//! upwards: a message that closed a session yesterday explains nothing while its port is gone.
//!
//! Not here: asking the daemon and the kernel, which is `crates/agent`.

mod bfd;
mod capability;
mod notice;
mod path;
mod words;

use super::{Link, Session};
use crate::model::fabric::{Found, Inward, Neighbor};
use crate::model::{Family, Model};
use ichor_values::{Issue, Mac};

/// What is wrong with the session at hand, and what helps. The session names itself: there is no subject.
fn issue(message: impl Into<String>, help: impl Into<String>) -> Issue {
    Issue::error("", message).with_help(help)
}

/// What a node knows of a session beside what its daemon says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub struct Known {
    /// The node's AS number on this session.
    pub own: u32,
    /// The neighbour's AS number; none when any external one will do.
    pub asn: Option<u32>,
    /// The families that are meant.
    pub families: Vec<Family>,
    /// Whether IPv4 goes over IPv6.
    pub extended: bool,
    /// Whether BFD is meant.
    pub bfd: bool,
    /// Seconds of silence that end it.
    pub hold: u16,
    /// Whether it has a password.
    pub password: bool,
    /// More routes of one family than this close it.
    pub max_prefixes: Option<u32>,
    /// Whether the neighbour connects.
    pub passive: bool,
    /// The port on which the neighbour is found; none for one that is found by its address.
    pub port: Option<Port>,
    /// Whether there is a route to the neighbour's address; none where nobody looked.
    pub route: Option<bool>,
    /// Another program that writes the same routes, as [`rival`](super::rival::rival) names it.
    pub rival: Option<String>,
}

/// A port toward the fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// What the kernel shows of it; none while it is missing.
    pub link: Option<Link>,
    /// Its address before it went and came back.
    pub was: Option<Mac>,
    /// Seconds since a router advertised itself there; none when none ever did.
    pub heard: Option<u64>,
}

impl Known {
    /// What the model says of a neighbour in the fabric. What only the node can know is still open, and so is whether there
    /// is a password where the model came without them.
    pub fn of(model: &Model, neighbor: &Neighbor) -> Self {
        let Inward { max_prefixes, .. } = model.fabric.inward;
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
                Found::Port { name, .. } => Some(Port { name: name.to_string(), ..Port::default() }),
                Found::Address { .. } => None,
            },
            route: None,
            rival: None,
        }
    }
}

type Judge = fn(&Session, &Known) -> Option<Issue>;

/// Who is asked about a session that stands.
const ESTABLISHED: &[Judge] = &[capability::judge, bfd::silent, rival];

/// Who is asked about one that does not, in this order.
const OTHERWISE: &[Judge] = &[
    rival,
    path::port,
    bfd::moved,
    bfd::stale,
    path::advertisement,
    path::route,
    notice::judge,
    bfd::silent,
];

/// What is wrong with a session; none when it is as it should be.
pub fn judge(session: &Session, known: &Known) -> Option<Issue> {
    let ask = |judges: &[Judge]| judges.iter().find_map(|judge| judge(session, known));
    if session.is_established() {
        return ask(ESTABLISHED);
    }
    Some(ask(OTHERWISE).unwrap_or_else(|| words::judge(session, known)))
}

fn rival(_: &Session, known: &Known) -> Option<Issue> {
    let rival = known.rival.as_ref()?;
    Some(issue(
        format!("{rival} runs in the node's network too, and takes away routes that are not its own"),
        "stop it, or keep it from that (zebra: start it with `-K 60`); until then the agent puts back what it takes",
    ))
}

#[cfg(test)]
mod tests;
