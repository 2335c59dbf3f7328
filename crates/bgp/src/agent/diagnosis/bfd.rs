//! BFD: failed paths, and sessions with stale addresses.

use super::{SessionContext, issue};
use crate::agent::Session;
use ichor_values::Issue;

/// Releases in which a stale BFD session keeps BGP from starting.
const AFFECTED: &str = "FRR 10.2.0 to 10.2.2 and 10.3.0";

/// The node's BFD monitors an address that the neighbour no longer has.
pub(super) fn stale_session(session: &Session, _: &SessionContext) -> Option<Issue> {
    if session.bfd != Some(false) {
        return None;
    }
    let (watched, now) = (session.watched.as_deref()?, session.address.as_deref()?);
    (without_zone(watched) != without_zone(now)).then(|| {
        issue(
            format!("BFD still monitors {watched}, but the neighbour is now at {now}"),
            format!("restart the daemon, and use a release other than {AFFECTED}, which keep old addresses"),
        )
    })
}

/// The port came back with another MAC address, hence another IP address, and a leaf may still monitor the old one.
pub(super) fn changed_mac(_: &Session, known: &SessionContext) -> Option<Issue> {
    let port = known.port.as_ref()?;
    let (last_mac, mac) = (port.last_mac?, port.link.as_ref()?.mac?);
    (known.bfd && last_mac != mac).then(|| {
        issue(
            format!("port {} came back with MAC {mac} instead of {last_mac}; a leaf with {AFFECTED} keeps monitoring the old address", port.name),
            "restore the MAC address of the port, remove and add the neighbour on the leaf, or use another release there",
        )
    })
}

/// BFD is down.
pub(super) fn path_down(session: &Session, known: &SessionContext) -> Option<Issue> {
    (known.bfd && session.bfd == Some(false)).then(|| {
        let (message, remedy) = if session.is_established() {
            (
                "BFD is down, so only the hold timer detects a failed path",
                "enable BFD for this neighbour at the other end, and allow UDP port 3784",
            )
        } else {
            (
                "BFD reports the path to the neighbour as down",
                "check the path; if only one end has BFD, enable it at the other, or disable it at both",
            )
        };
        issue(message, remedy)
    })
}

/// The address without its zone.
fn without_zone(address: &str) -> &str {
    address.split('%').next().unwrap_or(address)
}
