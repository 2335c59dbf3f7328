//! The path to the neighbour: port, cable, router advertisements, routes.

use super::{SessionContext, issue};
use crate::agent::Session;
use ichor_values::Issue;

/// A port that is missing, down or without carrier.
pub(super) fn port_down(_: &Session, known: &SessionContext) -> Option<Issue> {
    let port = known.port.as_ref()?;
    let name = &port.name;
    let Some(link) = &port.link else {
        return Some(issue(
            format!("port {name} not found"),
            "check its MAC address, its driver and its slot; the agent configures it as soon as it appears",
        ));
    };
    if !link.up {
        let remedy = "set it up: another program on the node has set it down";
        return Some(issue(format!("port {name} is down"), remedy));
    }
    if !link.carrier {
        let remedy = "check the cable, the transceiver and the leaf's port";
        return Some(issue(format!("port {name} has no carrier"), remedy));
    }
    None
}

/// A leaf that sends no router advertisements.
pub(super) fn no_advertisement(session: &Session, known: &SessionContext) -> Option<Issue> {
    let port = known.port.as_ref()?;
    if port.last_advertisement.is_some() || session.address.is_some() {
        return None;
    }
    Some(issue(
        format!("no router advertisement from the leaf on port {}, so its address is unknown", port.name),
        "enable router advertisements on the leaf's port (FRR: `no ipv6 nd suppress-ra`), and check that \
         IPv6 is enabled at both ends",
    ))
}

/// An address without a route.
pub(super) fn no_route(session: &Session, known: &SessionContext) -> Option<Issue> {
    let peer = session.address.as_ref().unwrap_or(&session.peer);
    (known.route == Some(false)).then(|| {
        issue(
            format!("no route to {peer}"),
            "give the node an address in the neighbour's subnet, or a static route to it",
        )
    })
}
