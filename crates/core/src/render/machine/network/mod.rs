//! Links, addresses, routes, hostname, name and time servers of a node.
//!
//! Three formats of the same links ([`NodePlan::links`]): [`documents()`] for Talos 1.12 and later, [`machine()`] for Talos
//! 1.11, and [`network_config()`] for machines that boot with nocloud data.
//!
//! Not here: META key 10 ([`platform_network`](crate::render::platform_network)), and the links of routing.

mod documents;
mod machine;
mod network_config;

use std::net::IpAddr;

pub use documents::documents;
pub use machine::machine;
pub use network_config::network_config;

use crate::plan::NodePlan;

/// The name servers of a node.
pub(in crate::render) fn name_servers(node: &NodePlan) -> Vec<String> {
    node.name_servers.iter().flat_map(|list| list.value.values()).map(IpAddr::to_string).collect()
}

/// The time servers of a node.
pub(in crate::render) fn time_servers(node: &NodePlan) -> Vec<String> {
    node.time_servers.iter().flat_map(|list| list.value.values()).map(ToString::to_string).collect()
}
