//! A router of the fabric: the other end of the nodes' sessions.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::plan::RouterPlan;
use crate::plan::router::numbered;
use ichor_bgp::model::fabric::Neighbor;
use ichor_bgp::model::{Bfd, Filter};
use ichor_bgp::setting::{RouterRole, Software};
use ichor_values::{Asn, Secret, SoftwareVersion};

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
    pub(crate) peers: Vec<Peer>,
    /// What it takes from nodes: a node that leaks must not hurt it.
    pub(crate) accepts: Filter,
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
    pub(crate) by_range: bool,
}

impl Router {
    /// A router that the file lists.
    pub(super) fn listed(router: &RouterPlan) -> Self {
        Self {
            name: router.name.as_ref().map(ToString::to_string).unwrap_or_default(),
            listed: true,
            role: router.role.value,
            asn: router.asn.as_ref().map(|asn| asn.value),
            router_id: router.router_id.value,
            software: router.software.value,
            version: router.version.as_ref().map(|version| version.value.clone()),
            vrf: router.vrf.as_ref().map(|vrf| vrf.value.to_string()),
            addresses: router.addresses.iter().map(|address| address.value).collect(),
            listen: router.listen.as_ref().map(|listen| listen.value.0.trunc()),
            bfd: router.bfd.as_ref().map(|bfd| bfd.as_ref().map(Bfd::from)),
            password: router.password.as_ref().map(|password| password.value.clone()),
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
