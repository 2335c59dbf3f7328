//! A router of the fabric: the other end of the nodes' sessions.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::cluster::section;
use ichor_bgp::model::fabric::Neighbor;
use ichor_bgp::model::{Bfd, Filter};
use ichor_bgp::setting::{RouterRole, Software};
use ichor_values::{Asn, Secret, SoftwareVersion, Toggle};

/// A router and its sessions, as it must be configured for the nodes' own configuration to work.
#[derive(Clone, Debug, PartialEq)]
pub struct Router {
    /// Its name; for one that the file does not list, what the nodes know of it.
    pub name: String,
    /// Whether the file lists it.
    pub listed: bool,
    /// What it is in the fabric.
    pub role: RouterRole,
    /// Its AS number; none when nobody knows it.
    pub asn: Option<Asn>,
    /// Its router id.
    pub router_id: Ipv4Addr,
    /// What it runs.
    pub software: Software,
    /// The release of it.
    pub version: Option<SoftwareVersion>,
    /// The VRF its sessions are in.
    pub vrf: Option<String>,
    /// Its addresses toward the nodes.
    pub addresses: Vec<IpAddr>,
    /// The prefix from which it accepts nodes that are not listed one by one.
    pub listen: Option<IpNet>,
    /// BFD on its side: none is whatever the nodes have.
    pub bfd: Option<Option<Bfd>>,
    /// Password of its sessions, unless a node has another.
    pub password: Option<Secret>,
    /// Its sessions.
    pub peers: Vec<Peer>,
    /// What it takes from nodes: a node that leaks must not hurt it.
    pub accepts: Filter,
}

/// One session of a router.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// Who is at its other end.
    pub name: String,
    /// Whether that is a node. Nodes are given a default route, and are not believed everything.
    pub node: bool,
    /// The session as the router has it.
    pub session: Neighbor,
    /// Whether the router accepts it from a range, and does not know it otherwise.
    pub by_range: bool,
}

impl Router {
    /// A router that the file lists as its `nth`.
    pub(super) fn listed(nth: usize, router: &section::Router) -> Self {
        let addresses: Vec<IpAddr> = router.addresses.values().copied().collect();
        let v4 = addresses.iter().find_map(|address| match address {
            IpAddr::V4(v4) => Some(*v4),
            IpAddr::V6(_) => None,
        });
        Self {
            name: router.name.get().map(ToString::to_string).unwrap_or_default(),
            listed: true,
            role: router.role.value().unwrap_or(RouterRole::Leaf),
            asn: router.asn.value(),
            router_id: router.router_id.value().or(v4).unwrap_or_else(|| numbered(nth)),
            software: router.software.value().unwrap_or(Software::Frr),
            version: router.version.get().cloned(),
            vrf: router.vrf.get().map(ToString::to_string),
            addresses,
            listen: router.listen.get().map(|prefix| prefix.0.trunc()),
            bfd: router.bfd.get().map(|bfd| match bfd {
                Toggle::Off => None,
                Toggle::On(bfd) => {
                    let numbers = (bfd.interval.value().unwrap_or(300), bfd.multiplier.value().unwrap_or(3));
                    Some(Bfd::from(numbers))
                }
            }),
            password: router.password.get().cloned(),
            peers: Vec::new(),
            accepts: Filter::default(),
        }
    }

    /// A router that only nodes know, as their neighbour.
    pub(super) fn unlisted(nth: usize, name: String, asn: Option<Asn>, address: Option<IpAddr>) -> Self {
        Self {
            name,
            listed: false,
            role: if address.is_some() { RouterRole::Gateway } else { RouterRole::Leaf },
            asn,
            router_id: numbered(nth),
            software: Software::Other,
            version: None,
            vrf: None,
            addresses: address.into_iter().collect(),
            listen: None,
            bfd: None,
            password: None,
            peers: Vec::new(),
            accepts: Filter::default(),
        }
    }
}

/// The router id of the `nth` router when it has neither one nor an IPv4 address.
fn numbered(nth: usize) -> Ipv4Addr {
    let [.., high, low] = u32::try_from(nth + 1).unwrap_or(u32::MAX).to_be_bytes();
    Ipv4Addr::new(10, 255, 255_u8.wrapping_sub(high), low)
}
