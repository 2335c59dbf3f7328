//! Sessions of a router that are told alike.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::routing::FabricRouter;
use crate::routing::router::RouterPeer;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::model::{Bfd, Family};
use ichor_bgp::render::{SecretFetcher, password};
use ichor_values::Secret;

/// Sessions that differ in nothing but who is at the other end.
pub(crate) struct PeerGroup<'n> {
    /// Its name in the router's configuration.
    pub name: String,
    /// Whether nodes are at the other ends.
    pub nodes: bool,
    /// Whether they have the router's own AS number: FRR takes no group of both kinds.
    pub(crate) internal: bool,
    /// The families they carry.
    pub families: &'n [Family],
    /// Whether IPv4 goes over IPv6.
    pub(crate) extends: bool,
    /// Fast detection of a dead path.
    pub bfd: Option<Bfd>,
    /// Keepalive and hold time in seconds.
    pub timers: (u16, u16),
    /// Their password.
    pub password: Option<String>,
    /// Who is listed one by one.
    pub(crate) peers: Vec<&'n RouterPeer>,
    /// The prefix from which all others are accepted, and how many of them are known.
    pub(crate) range: Option<(IpNet, usize)>,
}

/// What the sessions of a group have in common.
#[derive(PartialEq)]
struct PeerGroupKey<'n> {
    nodes: bool,
    internal: bool,
    /// The family of their addresses; none for sessions on a port.
    over: Option<Family>,
    families: &'n [Family],
    bfd: Option<Bfd>,
    timers: (u16, u16),
    password: Option<&'n Secret>,
}

impl<'n> PeerGroupKey<'n> {
    fn of(router: &FabricRouter, peer: &'n RouterPeer) -> Self {
        let session = &peer.session;
        Self {
            nodes: peer.node,
            internal: session.asn.is_some() && session.asn == router.asn,
            over: match session.found {
                PeerAddress::Port { .. } => None,
                PeerAddress::Address { address, .. } => Some(Family::of(IpNet::from(address))),
            },
            families: &session.families,
            bfd: session.bfd,
            timers: session.timers,
            password: session.password.as_ref(),
        }
    }
}

/// A node's address as a router knows it; none where DHCP gives it.
pub fn address(peer: &RouterPeer) -> Option<IpAddr> {
    match peer.session.found {
        // Of a node without a known address nothing is said but where it connects to.
        PeerAddress::Address { address, source } => (source != Some(address)).then_some(address),
        PeerAddress::Port { .. } => None,
    }
}

/// The groups of a router, or why they cannot be told. A range can be told one way only: whoever is to be told otherwise is
/// listed.
pub fn of<'n>(
    router: &'n FabricRouter,
    fetch: &SecretFetcher<'_>,
) -> Result<Vec<PeerGroup<'n>>, Vec<String>> {
    let mut sorted: Vec<(PeerGroupKey<'n>, PeerGroup<'n>)> = Vec::new();
    let (mut reasons, mut ranged) = (Vec::new(), None);
    for peer in &router.peers {
        let alike = PeerGroupKey::of(router, peer);
        let nth = match sorted.iter().position(|(other, _)| *other == alike) {
            Some(nth) => nth,
            None => {
                let mut group = empty(&alike, &sorted);
                match alike.password.map(|secret| password(fetch, secret)).transpose() {
                    Ok(password) => group.password = password,
                    Err(error) => reasons.push(error.to_string()),
                }
                sorted.push((alike, group));
                sorted.len() - 1
            }
        };
        let group = &mut sorted[nth].1;
        let range = router.listen.filter(|_| peer.by_range && *ranged.get_or_insert(nth) == nth);
        match (range, address(peer)) {
            (Some(range), _) => group.range = Some((range, group.range.map_or(0, |(_, count)| count) + 1)),
            (None, None) if matches!(peer.session.found, PeerAddress::Address { .. }) => {
                reasons.push(nowhere(router, peer));
            }
            (None, _) => group.peers.push(peer),
        }
    }
    if reasons.is_empty() { Ok(sorted.into_iter().map(|(_, group)| group).collect()) } else { Err(reasons) }
}

fn nowhere(router: &FabricRouter, peer: &RouterPeer) -> String {
    let (name, node) = (&router.name, &peer.name);
    if router.listen.is_none() {
        return format!(
            "DHCP gives {node} its address, so {name} cannot list it; say `listen` with the prefix of the nodes, or give \
             {node} a static address"
        );
    }
    format!(
        "DHCP gives {node} its address, so {name} takes it from its range, where others have another password, BFD, timers or \
         families; make them the same, or give {node} a static address"
    )
}

/// A group without sessions and password, named by how many of its kind there are.
fn empty<'n>(alike: &PeerGroupKey<'n>, others: &[(PeerGroupKey<'n>, PeerGroup<'n>)]) -> PeerGroup<'n> {
    let before = others.iter().filter(|(other, _)| other.nodes == alike.nodes).count();
    let kind = if alike.nodes { "NODES" } else { "ROUTERS" };
    PeerGroup {
        name: if before == 0 { kind.to_owned() } else { format!("{kind}-{}", before + 1) },
        nodes: alike.nodes,
        internal: alike.internal,
        families: alike.families,
        extends: alike.over != Some(Family::V4) && alike.families.contains(&Family::V4),
        bfd: alike.bfd,
        timers: alike.timers,
        password: None,
        peers: Vec::new(),
        range: None,
    }
}
