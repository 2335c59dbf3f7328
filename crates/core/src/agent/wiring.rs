//! The links that a node's BGP needs, and how they come about.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::routing::Domain;

/// What must be there on the node before its daemon can work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wiring {
    /// The link to the speaker.
    pub pair: Option<Pair>,
    /// Addresses that nobody else gives the node.
    pub carried: Vec<Carried>,
    /// The kernel's names of the fabric ports.
    pub ports: Vec<String>,
    /// Whether a fabric port still needs a default route from router advertisements.
    pub accept_advertisements: bool,
}

/// Both ends of the link to the speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Where our end is.
    pub domain: Domain,
    /// Our end: its name and address.
    pub ours: (String, IpNet),
    /// The speaker's end, in the node's own network namespace and table.
    pub theirs: (String, IpNet),
    /// The longest packet of both.
    pub mtu: u32,
}

/// Addresses on the loopback or a dummy link.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Carried {
    /// The link: `lo`, or a dummy that is made when it is missing.
    pub link: String,
    /// Its addresses.
    pub addresses: Vec<IpNet>,
}
