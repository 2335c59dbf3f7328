//! Decisions before a machine is created, powered on or deleted at any provider.
//!
//! Each provider has a folder: the desired machine is derived from a
//! [`VmDefinition`](crate::render::hypervisor::vm_definition::VmDefinition), the inventory from the provider's replies, and
//! blockers are [`Issue`](ichor_values::Issue)s.
//!
//! Not here: requests to a provider, which are in `crates/cli`.

pub mod drives;
pub mod libvirt;
pub mod proxmox;
pub mod redfish;

use std::net::IpAddr;

pub use drives::Drives;

/// Whether an address of a machine's port can be reached from other links.
pub(crate) fn is_reachable(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_link_local() && !v4.is_unspecified(),
        IpAddr::V6(v6) => !v6.is_unicast_link_local() && !v6.is_unspecified(),
    }
}
