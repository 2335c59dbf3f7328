//! BGP with the load balancer: the link, the session and the import filter.

use std::net::IpAddr;

use super::filter::PrefixFilter;
use super::{Bfd, Family};
use crate::setting::Speaker;
use ichor_values::Asn;

/// The BGP instance that the load balancer peers with. Routes accepted from it are announced to the fabric; nothing is
/// announced in the other direction. The load balancer opens the connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The load balancer.
    pub speaker: Speaker,
    /// The routing domain of our end of the link.
    pub domain: RoutingDomain,
    /// Our end of the link.
    pub ours: SessionEndpoint,
    /// The load balancer's end.
    pub theirs: SessionEndpoint,
    /// Prefix length of the link.
    pub prefix: u8,
    /// The address families that are accepted and announced to the fabric.
    pub families: Vec<Family>,
    /// Fast detection of a failed path.
    pub bfd: Option<Bfd>,
    /// Keepalive and hold time in seconds.
    pub timers: (u16, u16),
    /// The import filter.
    pub filter: PrefixFilter,
}

/// One end of the link to the load balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEndpoint {
    /// Name of the link.
    pub link: String,
    /// Address.
    pub address: IpAddr,
    /// AS number in this session.
    pub asn: Asn,
}

/// How the load balancer's routes are isolated from the node's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoutingDomain {
    /// A VRF.
    Vrf {
        /// Its name.
        name: String,
        /// Its table.
        table: u32,
    },
    /// A network namespace.
    Namespace {
        /// Its name.
        name: String,
    },
    /// Not at all: both ends are in the main table.
    Shared,
}

impl RoutingDomain {
    /// The name of the VRF or namespace.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Vrf { name, .. } | Self::Namespace { name } => Some(name),
            Self::Shared => None,
        }
    }
}

impl Workload {
    /// Whether IPv4 prefixes go over an IPv6 session, which both ends must enable.
    pub fn extends_next_hops(&self) -> bool {
        self.theirs.address.is_ipv6() && self.families.contains(&Family::V4)
    }
}
