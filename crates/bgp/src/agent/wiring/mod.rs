//! The links that a node's BGP needs, and the steps that create them.
//!
//! A [`Wiring`] is the desired state, [`KernelState`] the existing one. [`steps`] reconciles the two: a complete state
//! needs no steps, and a run that was killed at any point needs no special case. A difference that cannot be repaired
//! without affecting another program is a [`Conflict`]. [`removals`] lists everything that the agent created, for its
//! removal.
//!
//! Every object is marked when the agent creates it: links by their group ([`GROUP`]), addresses and routes by their
//! protocol ([`PROTOCOL`]). A mark exists exactly as long as its object, so it cannot be lost or out of date as a file
//! could.
//!
//! Not here: reading and changing the kernel's state, which `crates/agent` does.

mod conflict;
mod observed;
mod removal;
mod step;
mod steps;
mod sysctl;

use ipnet::IpNet;

use crate::model::RoutingDomain;
pub use conflict::Conflict;
pub use observed::{KernelState, NamespaceState, UnreachableDefault};
pub use removal::{Removal, removals};
pub use step::{LinkRef, Step};
pub use steps::steps;
pub use sysctl::{Sysctl, Sysctls, record_sysctls};

/// The group of links that the agent created: `ichr`. The kernel sets it when it creates the link.
pub const GROUP: u32 = 0x6963_6872;

/// The protocol of addresses and routes that the agent added. No other program uses it: the kernel has 1 to 18, FRR 186
/// and up.
pub const PROTOCOL: u8 = 73;

/// The metric of a VRF's unreachable default route, as in the kernel's documentation: every other route is preferred.
pub const UNREACHABLE_METRIC: u32 = 4_278_198_272;

/// The links and addresses that must exist on the node before its daemon can work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wiring {
    /// The veth pair to the load balancer.
    pub pair: Option<VethLink>,
    /// Addresses that no other program configures.
    pub extra_addresses: Vec<ExtraAddresses>,
    /// The kernel's names of the fabric ports.
    pub ports: Vec<String>,
    /// Whether a fabric port still needs a default route from router advertisements.
    pub accept_advertisements: bool,
}

/// Both ends of the veth pair to the load balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VethLink {
    /// The routing domain of our end.
    pub domain: RoutingDomain,
    /// Our end: its name and address.
    pub ours: (String, IpNet),
    /// The load balancer's end, in the node's own network namespace and main table.
    pub theirs: (String, IpNet),
    /// The MTU of both.
    pub mtu: u32,
}

/// Addresses on the loopback or a dummy link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraAddresses {
    /// The link: `lo`, or a dummy link, which is created if it is missing.
    pub link: String,
    /// Its addresses.
    pub addresses: Vec<IpNet>,
}

impl Wiring {
    /// The namespace of our end, if it is in one.
    pub fn namespace(&self) -> Option<&str> {
        match &self.pair.as_ref()?.domain {
            RoutingDomain::Namespace { name } => Some(name),
            RoutingDomain::Vrf { .. } | RoutingDomain::Shared => None,
        }
    }

    /// The table of our end's VRF, if it is in one.
    pub fn table(&self) -> Option<u32> {
        match self.pair.as_ref()?.domain {
            RoutingDomain::Vrf { table, .. } => Some(table),
            RoutingDomain::Namespace { .. } | RoutingDomain::Shared => None,
        }
    }

    /// Every address, with its link.
    fn addresses(&self) -> impl Iterator<Item = (LinkRef, IpNet)> {
        let extra = self
            .extra_addresses
            .iter()
            .flat_map(|extra| extra.addresses.iter().map(|net| (LinkRef::on_node(&extra.link), *net)));
        let pair = self
            .pair
            .iter()
            .flat_map(|pair| [(pair.our_end(), pair.ours.1), (pair.their_end(), pair.theirs.1)]);
        extra.chain(pair)
    }
}

impl VethLink {
    /// Our end.
    pub(crate) fn our_end(&self) -> LinkRef {
        let namespace = match &self.domain {
            RoutingDomain::Namespace { name } => Some(name.clone()),
            RoutingDomain::Vrf { .. } | RoutingDomain::Shared => None,
        };
        LinkRef { link: self.ours.0.clone(), namespace }
    }

    /// The VRF of our end, if it is in one.
    fn vrf(&self) -> Option<&str> {
        match &self.domain {
            RoutingDomain::Vrf { name, .. } => Some(name),
            RoutingDomain::Namespace { .. } | RoutingDomain::Shared => None,
        }
    }

    /// The load balancer's end.
    pub(crate) fn their_end(&self) -> LinkRef {
        LinkRef::on_node(&self.theirs.0)
    }
}

#[cfg(test)]
mod tests;
