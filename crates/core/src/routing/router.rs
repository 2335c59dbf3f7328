//! A router of the fabric: the remote end of the nodes' sessions.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::plan::RouterPlan;
use crate::plan::router::fallback_router_id;
use ichor_bgp::model::fabric::Neighbor;
use ichor_bgp::model::{Bfd, PrefixFilter};
use ichor_bgp::setting::{RouterRole, Software};
use ichor_values::{Asn, Secret, SoftwareVersion};

/// A router and its sessions, as it must be configured to match the nodes' configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct FabricRouter {
    /// Its name; for an unlisted router, a description from its nodes.
    pub name: String,
    /// Whether the file lists it.
    pub listed: bool,
    /// Role in the fabric.
    pub role: RouterRole,
    /// Its AS number, if known.
    pub asn: Option<Asn>,
    /// Its router ID.
    pub router_id: Ipv4Addr,
    /// Routing software.
    pub software: Software,
    /// Release of the software.
    pub version: Option<SoftwareVersion>,
    /// VRF of its sessions.
    pub vrf: Option<String>,
    /// Its addresses on the links to the nodes.
    pub addresses: Vec<IpAddr>,
    /// Listen range.
    pub listen: Option<IpNet>,
    /// BFD on the router; the default is as on the nodes.
    pub bfd: Option<Option<Bfd>>,
    /// Password of sessions whose node has no other.
    pub password: Option<Secret>,
    /// Its sessions.
    pub(crate) peers: Vec<RouterPeer>,
    /// Prefixes it accepts from nodes, to contain route leaks.
    pub(crate) accepts: PrefixFilter,
}

/// One session of a router.
#[derive(Clone, Debug, PartialEq)]
pub struct RouterPeer {
    /// Name of the remote end.
    pub name: String,
    /// Whether the remote end is a node: nodes receive a default route, and their routes are filtered.
    pub node: bool,
    /// The session as the router configures it.
    pub session: Neighbor,
    /// Whether the router accepts it by its listen range.
    pub(crate) by_range: bool,
}

impl FabricRouter {
    /// A router in the file.
    pub(super) fn from_plan(router: &RouterPlan) -> Self {
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
            accepts: PrefixFilter::default(),
        }
    }

    /// A neighbour of nodes that is not in the file.
    pub(super) fn unlisted(nth: usize, name: String, asn: Option<Asn>, address: Option<IpAddr>) -> Self {
        Self {
            name,
            listed: false,
            role: if address.is_some() { RouterRole::Gateway } else { RouterRole::Leaf },
            asn,
            router_id: fallback_router_id(nth),
            software: Software::Other,
            version: None,
            vrf: None,
            addresses: address.into_iter().collect(),
            listen: None,
            bfd: None,
            password: None,
            peers: Vec::new(),
            accepts: PrefixFilter::default(),
        }
    }
}
