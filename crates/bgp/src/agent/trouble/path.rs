//! The way to the neighbour: port, cable, advertisements, routes.

use super::{Known, issue};
use crate::agent::Session;
use ichor_values::Issue;

/// A port that is missing, off or without a cable.
pub(super) fn port(_: &Session, known: &Known) -> Option<Issue> {
    let port = known.port.as_ref()?;
    let name = &port.name;
    let Some(link) = &port.link else {
        return Some(issue(
            format!("port {name} is not there"),
            "it is configured as soon as it appears; look at its MAC address, its driver and its slot",
        ));
    };
    if !link.up {
        let remedy = "switch it on: something on the node switched it off";
        return Some(issue(format!("port {name} is switched off"), remedy));
    }
    if !link.carrier {
        let remedy = "look at the cable, the transceiver and the leaf's port";
        return Some(issue(format!("nothing answers at the other end of port {name}"), remedy));
    }
    None
}

/// A leaf that does not say where it is.
pub(super) fn advertisement(session: &Session, known: &Known) -> Option<Issue> {
    let port = known.port.as_ref()?;
    if port.heard.is_some() || session.address.is_some() {
        return None;
    }
    Some(issue(
        format!("no router advertisement from the leaf on port {}, so its address is not known", port.name),
        "let the leaf advertise itself there (FRR: `no ipv6 nd suppress-ra` on its port), and look whether \
         IPv6 is on at both ends",
    ))
}

/// An address nobody knows the way to.
pub(super) fn route(session: &Session, known: &Known) -> Option<Issue> {
    let peer = session.address.as_ref().unwrap_or(&session.peer);
    (known.route == Some(false)).then(|| {
        issue(
            format!("no route to {peer}"),
            "give the node an address in the neighbour's network, or a static route to it",
        )
    })
}
