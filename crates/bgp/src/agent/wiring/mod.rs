//! The links that a node's BGP needs, and how they come about.
//!
//! A [`Wiring`] is what must be there, [`KernelState`] is what is. [`steps`] completes the one to the other: nothing to do is an
//! empty list, and an earlier run that was killed anywhere is no special case. What cannot be put right without hurting
//! somebody is a [`Conflict`]. [`removals`] is the way back.
//!
//! What the agent makes is marked in the moment it is made: links by their group ([`GROUP`]), addresses and routes by their
//! protocol ([`PROTOCOL`]). The marks live and die with the things, so they cannot be lost or out of date as a file could.
//!
//! Not here: asking the kernel and telling it, which is `crates/agent`.

mod conflict;
mod observed;
mod removal;
mod step;
mod steps;
mod switch;

use ipnet::IpNet;

use crate::model::RoutingDomain;
pub use conflict::Conflict;
pub use observed::{KernelState, NamespaceState, UnreachableDefault};
pub use removal::{Removal, removals};
pub use step::{LinkRef, Step};
pub use steps::steps;
pub use switch::{Sysctl, Sysctls, note};

/// The group of links that the agent made: `ichr`. The kernel takes it together with the link.
pub const GROUP: u32 = 0x6963_6872;

/// The protocol of addresses and of routes that the agent gave. Nobody else's: the kernel has 1 to 18, FRR from 186 on.
pub const PROTOCOL: u8 = 73;

/// The metric of the route that ends a VRF's table: the kernel's documentation has it, behind every other.
pub const FENCE_METRIC: u32 = 4_278_198_272;

/// What must be there on the node before its daemon can work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wiring {
    /// The link to the speaker.
    pub pair: Option<VethLink>,
    /// Addresses that nobody else gives the node.
    pub carried: Vec<ExtraAddresses>,
    /// The kernel's names of the fabric ports.
    pub ports: Vec<String>,
    /// Whether a fabric port still needs a default route from router advertisements.
    pub accept_advertisements: bool,
}

/// Both ends of the link to the speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VethLink {
    /// Where our end is.
    pub domain: RoutingDomain,
    /// Our end: its name and address.
    pub ours: (String, IpNet),
    /// The speaker's end, in the node's own network namespace and table.
    pub theirs: (String, IpNet),
    /// The longest packet of both.
    pub mtu: u32,
}

/// Addresses on the loopback or a dummy link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraAddresses {
    /// The link: `lo`, or a dummy that is made when it is missing.
    pub link: String,
    /// Its addresses.
    pub addresses: Vec<IpNet>,
}

impl Wiring {
    /// The namespace of our end, where it has one.
    pub fn namespace(&self) -> Option<&str> {
        match &self.pair.as_ref()?.domain {
            RoutingDomain::Namespace { name } => Some(name),
            RoutingDomain::Vrf { .. } | RoutingDomain::Shared => None,
        }
    }

    /// The table of the VRF that our end is in, where it is in one.
    pub fn table(&self) -> Option<u32> {
        match self.pair.as_ref()?.domain {
            RoutingDomain::Vrf { table, .. } => Some(table),
            RoutingDomain::Namespace { .. } | RoutingDomain::Shared => None,
        }
    }

    /// Every address, with the link it is on.
    fn addresses(&self) -> impl Iterator<Item = (LinkRef, IpNet)> {
        let carried = self
            .carried
            .iter()
            .flat_map(|carried| carried.addresses.iter().map(|net| (LinkRef::here(&carried.link), *net)));
        let pair = self
            .pair
            .iter()
            .flat_map(|pair| [(pair.our_end(), pair.ours.1), (pair.their_end(), pair.theirs.1)]);
        carried.chain(pair)
    }
}

impl VethLink {
    /// Where our end is.
    pub(crate) fn our_end(&self) -> LinkRef {
        let namespace = match &self.domain {
            RoutingDomain::Namespace { name } => Some(name.clone()),
            RoutingDomain::Vrf { .. } | RoutingDomain::Shared => None,
        };
        LinkRef { link: self.ours.0.clone(), namespace }
    }

    /// The VRF of our end, where it has one.
    fn vrf(&self) -> Option<&str> {
        match &self.domain {
            RoutingDomain::Vrf { name, .. } => Some(name),
            RoutingDomain::Namespace { .. } | RoutingDomain::Shared => None,
        }
    }

    /// Where the speaker's is.
    pub(crate) fn their_end(&self) -> LinkRef {
        LinkRef::here(&self.theirs.0)
    }
}

#[cfg(test)]
mod tests;
