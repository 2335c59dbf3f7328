//! The routers in the file.

use std::net::{IpAddr, Ipv4Addr};

use super::derive::Derivation;
use super::{BfdPlan, Decided};
use crate::cluster::section::{Reach, Router};
use crate::model::Cluster;
use ichor_bgp::setting::{RouterRole, Software};
use ichor_values::{Asn, Prefix, Secret, SoftwareVersion, Text, Toggle, Word};

/// One router of the fabric.
#[derive(Debug)]
pub struct RouterPlan {
    /// Its name.
    pub name: Option<Word>,
    /// Role in the fabric.
    pub role: Decided<RouterRole>,
    /// Its AS number.
    pub asn: Option<Decided<Asn>>,
    /// Its router ID.
    pub router_id: Decided<Ipv4Addr>,
    /// Its addresses on the links to the nodes.
    pub addresses: Vec<Decided<IpAddr>>,
    /// Routing software.
    pub software: Decided<Software>,
    /// Release of the software; unknown if none is written.
    pub version: Option<Decided<SoftwareVersion>>,
    /// VRF of its sessions.
    pub vrf: Option<Decided<Text>>,
    /// Listen range.
    pub listen: Option<Decided<Prefix>>,
    /// BFD on the router; the default is as on the nodes.
    pub bfd: Option<Option<BfdPlan>>,
    /// Reference to the password of its sessions.
    pub password: Option<Decided<Secret>>,
    /// User and host for SSH.
    pub ssh: Option<Decided<Text>>,
}

/// The routers of the file, in its order.
pub fn plan(cluster: &Cluster) -> Vec<RouterPlan> {
    cluster.routers().enumerate().map(|(nth, router)| decide(nth, &router.value)).collect()
}

fn decide(nth: usize, router: &Router) -> RouterPlan {
    let Router {
        name,
        role,
        asn,
        router_id,
        addresses,
        software,
        version,
        vrf,
        listen,
        // Part of each session: see `NeighborPlan`.
        extended_nexthop: _,
        bfd,
        password,
        reach,
    } = router;
    let addresses: Vec<_> =
        addresses.items().map(|address| Decided::written(address.value, address.place)).collect();
    RouterPlan {
        name: name.get().cloned(),
        role: Decided::from_key_or(role, RouterRole::Leaf, "nodes are connected to leafs"),
        asn: Decided::from_key(asn),
        router_id: Decided::from_key(router_id).unwrap_or_else(|| derived_id(nth, &addresses)),
        addresses,
        software: Decided::from_key_or(software, Software::Frr, "ichor generates FRR configurations"),
        version: Decided::from_key(version),
        vrf: Decided::from_key(vrf),
        listen: Decided::from_key(listen),
        bfd: bfd.get().map(|bfd| match bfd {
            Toggle::Off => None,
            Toggle::On(bfd) => Some(BfdPlan::from_section(bfd)),
        }),
        password: Decided::from_key(password),
        ssh: reach.get().and_then(|Reach { ssh }| Decided::from_key(ssh)),
    }
}

fn derived_id(nth: usize, addresses: &[Decided<IpAddr>]) -> Decided<Ipv4Addr> {
    let v4 = addresses.iter().find_map(|address| match address.value {
        IpAddr::V4(v4) => Some(Decided::derived(v4, Derivation::FabricRouterId, address.place())),
        IpAddr::V6(_) => None,
    });
    v4.unwrap_or_else(|| Decided::derived(fallback_router_id(nth), Derivation::FabricRouterId, None))
}

/// The router ID of the `nth` router if it has neither one nor an IPv4 address.
pub(crate) fn fallback_router_id(nth: usize) -> Ipv4Addr {
    let [.., high, low] = u32::try_from(nth + 1).unwrap_or(u32::MAX).to_be_bytes();
    Ipv4Addr::new(10, 255, 255_u8.wrapping_sub(high), low)
}
