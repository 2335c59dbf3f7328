//! Toward the speaker of service addresses: the link, the session, and what is taken from it.

use std::net::IpAddr;

use super::filter::PrefixFilter;
use super::{Bfd, Family};
use crate::setting::Speaker;
use ichor_values::Asn;

/// The instance that a speaker peers with. What it is given crosses to the fabric; nothing crosses back, and nothing is
/// announced to the speaker. The speaker connects.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Who announces service addresses.
    pub speaker: Speaker,
    /// Where our end of the link is.
    pub domain: RoutingDomain,
    /// Our end of the link.
    pub ours: SessionEndpoint,
    /// The speaker's.
    pub theirs: SessionEndpoint,
    /// Prefix length of the link.
    pub prefix: u8,
    /// The families that are taken and cross.
    pub families: Vec<Family>,
    /// Fast detection of a dead path.
    pub bfd: Option<Bfd>,
    /// Keepalive and hold time in seconds.
    pub timers: (u16, u16),
    /// What is taken.
    pub filter: PrefixFilter,
}

/// One end of the link to the speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEndpoint {
    /// Name of the link.
    pub link: String,
    /// Address.
    pub address: IpAddr,
    /// AS number in this session.
    pub asn: Asn,
}

/// What keeps the speaker's routes apart from the node's.
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
    /// Nothing: both ends are in the node's own table.
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
    /// Whether IPv4 goes over an IPv6 session, which both ends must be told.
    pub fn extends_next_hops(&self) -> bool {
        self.theirs.address.is_ipv6() && self.families.contains(&Family::V4)
    }
}
