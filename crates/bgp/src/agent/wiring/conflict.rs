//! What is there and cannot be put right without hurting somebody.

use ipnet::IpNet;

use super::{At, Observed, Pair, Wiring};
use crate::agent::Link;
use crate::model::Domain;

/// A link with an IPv6 address must let packets of this length through (RFC 8200, section 5).
const SHORTEST: u32 = 1280;

/// The longest name of a link.
const LONGEST: usize = 15;

/// Why a wiring is refused. Nothing is touched then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// No name for a link or namespace.
    #[error("`{name}` cannot be the name of a {what}; want 1 to 15 characters without `/`, `:` and spaces")]
    Name {
        /// What was to be named so.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two links are to have the same name.
    #[error("two links are to be called {name}; give each a name of its own")]
    Twice {
        /// The name.
        name: String,
    },
    /// The link is too short for its address.
    #[error("MTU {mtu} on {at} is too short for IPv6 address {net}; want 1280 or more")]
    Short {
        /// The link.
        at: At,
        /// Its length.
        mtu: u32,
        /// Its address.
        net: IpNet,
    },
    /// A link of that name is something else.
    #[error("{at} is there already and is a {found}, not a {wanted}; rename or remove it")]
    Kind {
        /// The link.
        at: At,
        /// What it is.
        found: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A VRF of that name has another table.
    #[error("VRF {name} has table {found}, not {wanted}; give it that table, or write the one it has")]
    Table {
        /// The VRF.
        name: String,
        /// Its table.
        found: u32,
        /// The one it should have.
        wanted: u32,
    },
    /// Another VRF has the table: zebra exits when it sees two.
    #[error("VRF {other} has table {table}, which is for VRF {name}; give one of them another table")]
    Taken {
        /// The VRF that is wanted.
        name: String,
        /// The one that is there.
        other: String,
        /// The table.
        table: u32,
    },
    /// The other end of our link is somebody else's.
    #[error("the other end of {at} is {found}, not {wanted}; remove {at}")]
    Peer {
        /// The link.
        at: At,
        /// Its other end.
        found: String,
        /// What that should be.
        wanted: At,
    },
    /// Somebody else gave the address to another link, or with another length.
    #[error("{net} is for {at}, and {other} has {found}; remove it there")]
    Address {
        /// The link that should have it.
        at: At,
        /// The address.
        net: IpNet,
        /// The link that has it.
        other: String,
        /// The address there.
        found: IpNet,
    },
}

/// Everything that stands in the way of a wiring.
pub(super) fn all(wiring: &Wiring, observed: &Observed) -> Vec<Conflict> {
    let mut conflicts = names(wiring);
    for carried in wiring.carried.iter().filter(|carried| carried.link != "lo") {
        conflicts.extend(kind(observed, &At::here(&carried.link), "dummy"));
    }
    if let Some(pair) = &wiring.pair {
        conflicts.extend(of_domain(pair, observed));
        conflicts.extend(of_pair(pair, observed));
    }
    conflicts.extend(wiring.addresses().flat_map(|(at, net)| addresses(observed, &at, &net)));
    conflicts
}

fn names(wiring: &Wiring) -> Vec<Conflict> {
    let mut links: Vec<&str> = wiring.carried.iter().map(|carried| carried.link.as_str()).collect();
    links.sort_unstable();
    links.dedup();
    let mut named: Vec<(&'static str, &str)> = links.into_iter().map(|name| ("link", name)).collect();
    if let Some(pair) = &wiring.pair {
        named.extend([("link", pair.ours.0.as_str()), ("link", pair.theirs.0.as_str())]);
        match &pair.domain {
            Domain::Vrf { name, .. } => named.push(("link", name)),
            Domain::Namespace { name } => named.push(("namespace", name)),
            Domain::Shared => {}
        }
    }
    let bad = named.iter().filter(|(_, name)| !is_name(name));
    let bad = bad.map(|&(what, name)| Conflict::Name { what, name: name.to_owned() });
    let twice = (1..named.len()).filter(|&nth| named[..nth].contains(&named[nth]));
    let twice = twice.map(|nth| Conflict::Twice { name: named[nth].1.to_owned() });
    bad.chain(twice).collect()
}

/// As the kernel sees it; a namespace is a file, and a file may not be called otherwise either.
fn is_name(name: &str) -> bool {
    let fits = (1..=LONGEST).contains(&name.len()) && name != "." && name != "..";
    fits && !name.contains(|c: char| c == '/' || c == ':' || c == '\0' || c.is_whitespace())
}

fn kind(observed: &Observed, at: &At, wanted: &'static str) -> Option<Conflict> {
    let link = observed.at(at)?;
    if link.kind.as_deref() == Some(wanted) {
        return None;
    }
    let found =
        link.kind.clone().unwrap_or_else(|| (if link.loopback { "loopback" } else { "port" }).to_owned());
    Some(Conflict::Kind { at: at.clone(), found, wanted })
}

fn of_domain(pair: &Pair, observed: &Observed) -> Vec<Conflict> {
    let Domain::Vrf { name, table } = &pair.domain else { return Vec::new() };
    let mut conflicts: Vec<_> = kind(observed, &At::here(name), "vrf").into_iter().collect();
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

fn of_pair(pair: &Pair, observed: &Observed) -> Vec<Conflict> {
    let (ours, theirs) = (pair.our_end(), pair.their_end());
    let mut conflicts = Vec::new();
    for (at, net) in [(&ours, pair.ours.1), (&theirs, pair.theirs.1)] {
        conflicts.extend(kind(observed, at, "veth"));
        if net.addr().is_ipv6() && pair.mtu < SHORTEST {
            conflicts.push(Conflict::Short { at: at.clone(), mtu: pair.mtu, net });
        }
    }
    if conflicts.is_empty() {
        conflicts.extend(of_peers(pair, observed));
    }
    conflicts
}

/// Both ends must be each other's, wherever ours is so far.
fn of_peers(pair: &Pair, observed: &Observed) -> Option<Conflict> {
    let (ours, theirs) = (pair.our_end(), pair.their_end());
    let waiting = At::here(&pair.ours.0);
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

fn wrong_peer(at: &At, link: &Link, wanted: &At, observed: &Observed) -> Conflict {
    let beside =
        observed.links_in(at.namespace.as_deref()).iter().find(|other| Some(other.index) == link.peer);
    let found = match beside {
        Some(other) if !link.far => other.name.clone(),
        _ => "a link in another namespace".to_owned(),
    };
    Conflict::Peer { at: at.clone(), found, wanted: wanted.clone() }
}

/// What the agent gave before, or what is on a link it made, is simply taken back.
fn addresses(observed: &Observed, at: &At, net: &IpNet) -> Vec<Conflict> {
    let foreign = observed.rivals(at, net).filter(|(link, found)| !link.made && !link.given.contains(found));
    let conflict = |(link, found): (&Link, IpNet)| {
        let other = At { link: link.name.clone(), namespace: at.namespace.clone() }.to_string();
        Conflict::Address { at: at.clone(), net: *net, other, found }
    };
    foreign.map(conflict).collect()
}
