//! Peer groups: sessions of a router with the same configuration.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::routing::FabricRouter;
use crate::routing::router::RouterPeer;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::model::{Bfd, Family};
use ichor_bgp::render::{SecretFetcher, fetch_password};
use ichor_values::Secret;

/// Sessions that differ only in the remote end.
pub(crate) struct PeerGroup<'n> {
    /// Name of the group.
    pub name: String,
    /// Whether the remote ends are nodes.
    pub nodes: bool,
    /// Whether they are iBGP sessions: FRR does not mix both kinds in a group.
    pub(crate) internal: bool,
    /// Their address families.
    pub families: &'n [Family],
    /// Whether they use extended next hop.
    pub(crate) extends: bool,
    /// BFD.
    pub bfd: Option<Bfd>,
    /// Keepalive and hold time in seconds.
    pub timers: (u16, u16),
    /// Their password.
    pub password: Option<String>,
    /// Sessions that are configured one by one.
    pub(crate) peers: Vec<&'n RouterPeer>,
    /// The listen range, and the number of known sessions from it.
    pub(crate) range: Option<(IpNet, usize)>,
}

/// Settings that the sessions of a group share.
#[derive(PartialEq)]
struct PeerGroupKey<'n> {
    nodes: bool,
    internal: bool,
    /// The family of their addresses; none if they are unnumbered.
    over: Option<Family>,
    families: &'n [Family],
    bfd: Option<Bfd>,
    timers: (u16, u16),
    password: Option<&'n Secret>,
}

impl<'n> PeerGroupKey<'n> {
    fn from_peer(router: &FabricRouter, peer: &'n RouterPeer) -> Self {
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

/// The remote address of a session; none with DHCP.
pub fn address(peer: &RouterPeer) -> Option<IpAddr> {
    match peer.session.found {
        // For a node without a known address, both addresses are the router's.
        PeerAddress::Address { address, source } => (source != Some(address)).then_some(address),
        PeerAddress::Port { .. } => None,
    }
}

/// The peer groups of a router, or the errors. Only one group can use the listen range; sessions with other settings are
/// listed.
pub fn peer_groups<'n>(
    router: &'n FabricRouter,
    fetch: &SecretFetcher<'_>,
) -> Result<Vec<PeerGroup<'n>>, Vec<String>> {
    let mut sorted: Vec<(PeerGroupKey<'n>, PeerGroup<'n>)> = Vec::new();
    let (mut reasons, mut ranged) = (Vec::new(), None);
    for peer in &router.peers {
        let key = PeerGroupKey::from_peer(router, peer);
        let nth = match sorted.iter().position(|(other, _)| *other == key) {
            Some(nth) => nth,
            None => {
                let mut group = new_group(&key, &sorted);
                match key.password.map(|secret| fetch_password(fetch, secret)).transpose() {
                    Ok(password) => group.password = password,
                    Err(error) => reasons.push(error.to_string()),
                }
                sorted.push((key, group));
                sorted.len() - 1
            }
        };
        let group = &mut sorted[nth].1;
        let range = router.listen.filter(|_| peer.by_range && *ranged.get_or_insert(nth) == nth);
        match (range, address(peer)) {
            (Some(range), _) => group.range = Some((range, group.range.map_or(0, |(_, count)| count) + 1)),
            (None, None) if matches!(peer.session.found, PeerAddress::Address { .. }) => {
                reasons.push(unknown_address_error(router, peer));
            }
            (None, _) => group.peers.push(peer),
        }
    }
    if reasons.is_empty() { Ok(sorted.into_iter().map(|(_, group)| group).collect()) } else { Err(reasons) }
}

fn unknown_address_error(router: &FabricRouter, peer: &RouterPeer) -> String {
    let (name, node) = (&router.name, &peer.name);
    if router.listen.is_none() {
        return format!(
            "{node} has its address from DHCP, so {name} cannot list it; set `listen` to the prefix of the nodes, or give \
                         {node} a static address"
        );
    }
    format!(
        "{node} has its address from DHCP, so {name} accepts it by its listen range, but others have another password, BFD, \
                 timers or families; make them equal, or give {node} a static address"
    )
}

/// Creates a group without sessions and password, numbered within its kind.
fn new_group<'n>(key: &PeerGroupKey<'n>, others: &[(PeerGroupKey<'n>, PeerGroup<'n>)]) -> PeerGroup<'n> {
    let before = others.iter().filter(|(other, _)| other.nodes == key.nodes).count();
    let kind = if key.nodes { "NODES" } else { "ROUTERS" };
    PeerGroup {
        name: if before == 0 { kind.to_owned() } else { format!("{kind}-{}", before + 1) },
        nodes: key.nodes,
        internal: key.internal,
        families: key.families,
        extends: key.over != Some(Family::V4) && key.families.contains(&Family::V4),
        bfd: key.bfd,
        timers: key.timers,
        password: None,
        peers: Vec::new(),
        range: None,
    }
}
