//! BFD: paths it finds dead, and addresses it does not let go.

use super::{Known, issue};
use crate::agent::Session;
use ichor_values::Issue;

/// Releases in which a BFD session that is down keeps BGP from starting.
const AFFECTED: &str = "FRR 10.2.0 to 10.2.2 and 10.3.0";

/// BFD of the node watches an address that the neighbour no longer has.
pub(super) fn stale(session: &Session, _: &Known) -> Option<Issue> {
    if session.bfd != Some(false) {
        return None;
    }
    let (watched, now) = (session.watched.as_deref()?, session.address.as_deref()?);
    (bare(watched) != bare(now)).then(|| {
        issue(
            format!("BFD still watches {watched}, and the neighbour is now at {now}"),
            format!("restart the daemon; {AFFECTED} do not let go of an old address: take another release"),
        )
    })
}

/// The port came back with another MAC address, hence another address, and a leaf may still watch the old one.
pub(super) fn moved(_: &Session, known: &Known) -> Option<Issue> {
    let port = known.port.as_ref()?;
    let (was, is) = (port.was?, port.link.as_ref()?.mac?);
    (known.bfd && was != is).then(|| {
        issue(
            format!("port {} came back with MAC {is} in the place of {was}; a leaf with {AFFECTED} watches the old address for ever", port.name),
            "give the port its old MAC address again, or remove and add the neighbour on the leaf, or take another release there",
        )
    })
}

/// Nothing comes back.
pub(super) fn silent(session: &Session, known: &Known) -> Option<Issue> {
    (known.bfd && session.bfd == Some(false)).then(|| {
        let (words, remedy) = if session.is_established() {
            (
                "BFD does not come up, so a dead path is found only by the hold timer",
                "switch BFD on for this neighbour at the other end, and let UDP port 3784 through",
            )
        } else {
            (
                "BFD says the path to the neighbour is dead",
                "look at the path; where only one end has BFD, switch it on at the other too, or off at both",
            )
        };
        issue(words, remedy)
    })
}

/// The address without the port it is on.
fn bare(address: &str) -> &str {
    address.split('%').next().unwrap_or(address)
}
