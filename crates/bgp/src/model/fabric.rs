//! BGP with the fabric: sessions, announcements, import and export policy.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Bfd, Family, PrefixFilter};
use crate::setting::Advertise;
use ichor_values::{Asn, Community, LinkName, Mac, Secret};

/// The BGP instance in the node's main table.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// Its neighbours.
    pub neighbors: Vec<Neighbor>,
    /// The node's own addresses that are announced.
    pub announced: Vec<AnnouncedAddress>,
    /// Prefixes that are announced instead of the prefixes within them.
    pub aggregates: Vec<IpNet>,
    /// The import policy.
    pub inward: ImportPolicy,
    /// The export policy. Only routes that the node or its load balancer originates are exported: a node never provides
    /// transit.
    pub outward: ExportPolicy,
    /// Seconds that neighbours keep routes through a planned restart; none without graceful restart.
    pub graceful_restart: Option<u16>,
}

/// One session.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbor {
    /// How the neighbour is addressed.
    pub found: PeerAddress,
    /// Its AS number; none if any external one is accepted.
    pub asn: Option<Asn>,
    /// The address families of the session.
    pub families: Vec<Family>,
    /// Fast detection of a failed path.
    pub bfd: Option<Bfd>,
    /// Keepalive and hold time in seconds.
    pub timers: (u16, u16),
    /// Whether the neighbour opens the connection.
    pub passive: bool,
    /// Where the password is stored.
    pub password: Option<Secret>,
}

/// How a neighbour is addressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerAddress {
    /// The router that advertises itself on a port.
    Port {
        /// The port.
        name: LinkName,
        /// Its MAC address, which identifies the port.
        mac: Option<Mac>,
    },
    /// The router at an address.
    Address {
        /// The address.
        address: IpAddr,
        /// The node's source address for the session, if the node certainly has it.
        source: Option<IpAddr>,
    },
}

impl Neighbor {
    /// Whether IPv4 prefixes go over an IPv6 session, which both ends must enable.
    pub fn extends_next_hops(&self) -> bool {
        let v6 = match &self.found {
            PeerAddress::Port { .. } => true,
            PeerAddress::Address { address, .. } => address.is_ipv6(),
        };
        v6 && self.families.contains(&Family::V4)
    }
}

/// An address that is announced while its link has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncedAddress {
    /// The kind of address.
    pub kind: Advertise,
    /// The link that has it.
    pub link: LinkName,
    /// The address, /32 or /128.
    pub net: IpNet,
}

/// Which routes are accepted from the fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportPolicy {
    /// The accepted prefixes.
    pub filter: PrefixFilter,
    /// The session is closed above this number of routes of one family.
    pub max_prefixes: Option<u32>,
    /// Local preference.
    pub local_preference: Option<u32>,
}

/// Attributes that are added to routes on export to the fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportPolicy {
    /// Communities.
    pub communities: Vec<Community>,
    /// How often the node's AS number is prepended.
    pub prepend: u8,
}
