//! Toward the fabric: sessions, what is announced there, and what is let in and out.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Bfd, Family, PrefixFilter};
use crate::setting::Advertise;
use ichor_values::{Asn, Community, LinkName, Mac, Secret};

/// The instance in the node's own table.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// Whom it peers with.
    pub neighbors: Vec<Neighbor>,
    /// The node's own addresses that are announced.
    pub announced: Vec<AnnouncedAddress>,
    /// Prefixes that are announced in place of their parts.
    pub aggregates: Vec<IpNet>,
    /// What is let in.
    pub inward: ImportPolicy,
    /// What is added on the way out. Only what the node or its speaker originated goes out: a node is never transit.
    pub outward: ExportPolicy,
    /// Seconds that neighbours keep routes through a planned restart; none when they shall not.
    pub graceful_restart: Option<u16>,
}

/// One session.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbor {
    /// How the neighbour is found.
    pub found: PeerAddress,
    /// Its AS number; none when any external one will do.
    pub asn: Option<Asn>,
    /// The families it carries.
    pub families: Vec<Family>,
    /// Fast detection of a dead path.
    pub bfd: Option<Bfd>,
    /// Keepalive and hold time in seconds.
    pub timers: (u16, u16),
    /// Whether the neighbour connects.
    pub passive: bool,
    /// Where the password can be had.
    pub password: Option<Secret>,
}

/// How a neighbour is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerAddress {
    /// By its router advertisements on a port.
    Port {
        /// The port.
        name: LinkName,
        /// Its MAC address, by which the port itself is found.
        mac: Option<Mac>,
    },
    /// By its address.
    Address {
        /// The address.
        address: IpAddr,
        /// The node's own address toward it, where it surely has that one.
        source: Option<IpAddr>,
    },
}

impl Neighbor {
    /// Whether IPv4 goes over an IPv6 session, which both ends must be told.
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
    /// What kind of address it is.
    pub kind: Advertise,
    /// The link that has it.
    pub link: LinkName,
    /// The address, /32 or /128.
    pub net: IpNet,
}

/// What is let in from the fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportPolicy {
    /// Prefixes.
    pub filter: PrefixFilter,
    /// More routes of one family than this close the session.
    pub max_prefixes: Option<u32>,
    /// Local preference.
    pub local_preference: Option<u32>,
}

/// What is added to routes on the way to the fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportPolicy {
    /// Communities.
    pub communities: Vec<Community>,
    /// How often the own AS number is put in front once more.
    pub prepend: u8,
}
