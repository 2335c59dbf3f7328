//! What a plan is turned into: text and pictures, as bytes that depend on nothing else.
//!
//! [`topology`] draws the cluster for people. [`schematic`] is what the Image Factory makes a node's images from, [`base`] what ichor does,
//! [`platform_network`] the network a machine has before it has a configuration, [`carrier`] what brings it its first one,
//! [`native`] the documents by which Talos itself routes. [`fabric`] is the other end of their sessions, [`manifests`] what Kubernetes is told of
//! them, [`hypervisor`] what makes their machines. Files of a build are [`artifact`]s, and [`tree()`] makes all of them.

pub mod artifact;
pub mod base;
pub mod carrier;
pub mod chart;
pub mod fabric;
pub mod hypervisor;
mod image;
pub mod machine;
pub mod manifests;
pub mod native;
pub mod platform_network;
pub mod schematic;
mod talosconfig;
pub mod topology;
pub mod tree;
pub mod xml;

use ichor_values::Issue;

use crate::plan::NodePlan;

pub use talosconfig::talosconfig;
pub use tree::tree;

/// Something of a node that cannot be made.
pub(crate) fn node_issue(node: &NodePlan, error: &dyn std::error::Error) -> Issue {
    Issue::error(node.path(""), error.to_string())
}
