//! What is decided before a machine is made, switched on or taken away, wherever that is done.
//!
//! Each provider has a folder: what is wanted of it comes from a [`Guest`](crate::render::hypervisor::guest::Guest), what is
//! there from its own answers, and what keeps one from becoming the other are [`Issue`](ichor_values::Issue)s.
//!
//! Not here: asking a provider, which `ichor` does.

pub mod drives;
pub mod libvirt;
pub mod proxmox;
pub mod redfish;

use std::net::IpAddr;

pub use drives::Drives;

/// Whether an address of a machine's port is good on more than one link.
pub(crate) fn is_reachable(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_link_local() && !v4.is_unspecified(),
        IpAddr::V6(v6) => !v6.is_unicast_link_local() && !v6.is_unspecified(),
    }
}
