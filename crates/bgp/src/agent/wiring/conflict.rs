//! Existing state that the agent must not change, because it belongs to another program.

use ipnet::IpNet;

use super::{KernelState, LinkRef, VethLink, Wiring};
use crate::agent::Link;
use crate::model::RoutingDomain;

/// The smallest MTU of a link with an IPv6 address (RFC 8200, section 5).
const SHORTEST: u32 = 1280;

/// The longest interface name.
const LONGEST: usize = 15;

/// Why the links cannot be set up. Nothing is changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// An invalid name of a link or namespace.
    #[error("`{name}` is not a valid {what} name; want 1 to 15 characters without `/`, `:` and spaces")]
    Name {
        /// `link` or `namespace`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two links have the same name.
    #[error("two links are named {name}; give each a different name")]
    Twice {
        /// The name.
        name: String,
    },
    /// The MTU is too small for IPv6.
    #[error("MTU {mtu} of {at} is too small for IPv6 address {net}; want 1280 or more")]
    Short {
        /// The link.
        at: LinkRef,
        /// Its MTU.
        mtu: u32,
        /// Its address.
        net: IpNet,
    },
    /// A link of this name has another type.
    #[error("{at} exists and is a {found}, not a {wanted}; rename or remove it")]
    Kind {
        /// The link.
        at: LinkRef,
        /// Its type.
        found: String,
        /// The type it should have.
        wanted: &'static str,
    },
    /// A VRF of this name has another table.
    #[error("VRF {name} uses table {found}, not {wanted}; change its table, or configure table {found}")]
    Table {
        /// The VRF.
        name: String,
        /// Its table.
        found: u32,
        /// The one it should have.
        wanted: u32,
    },
    /// Another VRF has the table: zebra exits when it sees two.
    #[error("VRF {other} uses table {table} of VRF {name}; give one of them another table")]
    Taken {
        /// The configured VRF.
        name: String,
        /// The existing VRF.
        other: String,
        /// The table.
        table: u32,
    },
    /// The peer of the veth link is an unrelated link.
    #[error("the veth peer of {at} is {found}, not {wanted}; remove {at}")]
    Peer {
        /// The link.
        at: LinkRef,
        /// Its peer.
        found: String,
        /// The peer it should have.
        wanted: LinkRef,
    },
    /// Another program configured the address on another link, or with another prefix length.
    #[error("{net} belongs on {at}, but {other} has {found}; remove it from {other}")]
    Address {
        /// The link that should have it.
        at: LinkRef,
        /// The address.
        net: IpNet,
        /// The link that has it.
        other: String,
        /// The address there.
        found: IpNet,
    },
}

/// Every conflict between a wiring and the existing state.
pub(super) fn find_conflicts(wiring: &Wiring, observed: &KernelState) -> Vec<Conflict> {
    let mut conflicts = name_conflicts(wiring);
    for extra in wiring.extra_addresses.iter().filter(|extra| extra.link != "lo") {
        conflicts.extend(type_conflict(observed, &LinkRef::on_node(&extra.link), "dummy"));
    }
    if let Some(pair) = &wiring.pair {
        conflicts.extend(domain_conflicts(pair, observed));
        conflicts.extend(pair_conflicts(pair, observed));
    }
    conflicts.extend(wiring.addresses().flat_map(|(at, net)| address_conflicts(observed, &at, &net)));
    conflicts
}

fn name_conflicts(wiring: &Wiring) -> Vec<Conflict> {
    let mut links: Vec<&str> = wiring.extra_addresses.iter().map(|extra| extra.link.as_str()).collect();
    links.sort_unstable();
    links.dedup();
    let mut named: Vec<(&'static str, &str)> = links.into_iter().map(|name| ("link", name)).collect();
    if let Some(pair) = &wiring.pair {
        named.extend([("link", pair.ours.0.as_str()), ("link", pair.theirs.0.as_str())]);
        match &pair.domain {
            RoutingDomain::Vrf { name, .. } => named.push(("link", name)),
            RoutingDomain::Namespace { name } => named.push(("namespace", name)),
            RoutingDomain::Shared => {}
        }
    }
    let bad = named.iter().filter(|(_, name)| !is_valid_name(name));
    let bad = bad.map(|&(what, name)| Conflict::Name { what, name: name.to_owned() });
    let twice = (1..named.len()).filter(|&nth| named[..nth].contains(&named[nth]));
    let twice = twice.map(|nth| Conflict::Twice { name: named[nth].1.to_owned() });
    bad.chain(twice).collect()
}

/// Whether the kernel accepts the name. A namespace is a file, so the same rules apply to it.
fn is_valid_name(name: &str) -> bool {
    let fits = (1..=LONGEST).contains(&name.len()) && name != "." && name != "..";
    fits && !name.contains(|c: char| c == '/' || c == ':' || c == '\0' || c.is_whitespace())
}

fn type_conflict(observed: &KernelState, at: &LinkRef, wanted: &'static str) -> Option<Conflict> {
    let link = observed.at(at)?;
    if link.kind.as_deref() == Some(wanted) {
        return None;
    }
    let found =
        link.kind.clone().unwrap_or_else(|| (if link.loopback { "loopback" } else { "port" }).to_owned());
    Some(Conflict::Kind { at: at.clone(), found, wanted })
}

fn domain_conflicts(pair: &VethLink, observed: &KernelState) -> Vec<Conflict> {
    let RoutingDomain::Vrf { name, table } = &pair.domain else { return Vec::new() };
    let mut conflicts: Vec<_> = type_conflict(observed, &LinkRef::on_node(name), "vrf").into_iter().collect();
    for vrf in observed.links.iter().filter(|link| link.kind.as_deref() == Some("vrf")) {
        let found = vrf.table.unwrap_or_default();
        if vrf.name == *name && found != *table {
            conflicts.push(Conflict::Table { name: name.clone(), found, wanted: *table });
        } else if vrf.name != *name && found == *table {
            conflicts.push(Conflict::Taken { name: name.clone(), other: vrf.name.clone(), table: *table });
        }
    }
    conflicts
}

fn pair_conflicts(pair: &VethLink, observed: &KernelState) -> Vec<Conflict> {
    let (ours, theirs) = (pair.our_end(), pair.their_end());
    let mut conflicts = Vec::new();
    for (at, net) in [(&ours, pair.ours.1), (&theirs, pair.theirs.1)] {
        conflicts.extend(type_conflict(observed, at, "veth"));
        if net.addr().is_ipv6() && pair.mtu < SHORTEST {
            conflicts.push(Conflict::Short { at: at.clone(), mtu: pair.mtu, net });
        }
    }
    if conflicts.is_empty() {
        conflicts.extend(peer_conflict(pair, observed));
    }
    conflicts
}

/// Both ends must be peers of each other, even before ours is moved into its namespace.
fn peer_conflict(pair: &VethLink, observed: &KernelState) -> Option<Conflict> {
    let (ours, theirs) = (pair.our_end(), pair.their_end());
    let waiting = LinkRef::on_node(&pair.ours.0);
    let (place, found) = match observed.at(&ours) {
        Some(link) => (&ours, Some(link)),
        None => (&waiting, observed.at(&waiting)),
    };
    let far = place.namespace.is_some();
    match (found, observed.at(&theirs)) {
        (None, None) => None,
        (Some(a), Some(b)) if are_peers(a, b, far) => None,
        (Some(a), _) => Some(wrong_peer(place, a, &theirs, observed)),
        (None, Some(b)) => Some(wrong_peer(&theirs, b, &ours, observed)),
    }
}

fn are_peers(a: &Link, b: &Link, far: bool) -> bool {
    a.peer == Some(b.index) && b.peer == Some(a.index) && a.far == far && b.far == far
}

fn wrong_peer(at: &LinkRef, link: &Link, wanted: &LinkRef, observed: &KernelState) -> Conflict {
    let beside =
        observed.links_in(at.namespace.as_deref()).iter().find(|other| Some(other.index) == link.peer);
    let found = match beside {
        Some(other) if !link.far => other.name.clone(),
        _ => "a link in another namespace".to_owned(),
    };
    Conflict::Peer { at: at.clone(), found, wanted: wanted.clone() }
}

/// Addresses that the agent configured, or that are on its links, are removed instead.
fn address_conflicts(observed: &KernelState, at: &LinkRef, net: &IpNet) -> Vec<Conflict> {
    let foreign = observed
        .conflicting_addresses(at, net)
        .filter(|(link, found)| !link.made && !link.given.contains(found));
    let conflict = |(link, found): (&Link, IpNet)| {
        let other = LinkRef { link: link.name.clone(), namespace: at.namespace.clone() }.to_string();
        Conflict::Address { at: at.clone(), net: *net, other, found }
    };
    foreign.map(conflict).collect()
}
