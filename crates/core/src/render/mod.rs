//! Rendering of a plan to files, as a pure function.
//!
//! [`tree()`] renders all files of a build as [`artifact`]s: Talos configurations ([`machine`]) with Talos' own BGP
//! ([`native`]), boot media ([`boot_media`]), META network configuration ([`platform_network`]), images ([`schematic`] for the
//! Image Factory, [`base_image`] for ichor), router configurations ([`fabric`]), Kubernetes manifests ([`manifests`]), VM definitions
//! ([`hypervisor`]) and a diagram ([`topology`]).

pub mod artifact;
pub mod base_image;
pub mod boot_media;
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

/// An error in the rendering of a node.
pub(crate) fn node_issue(node: &NodePlan, error: &dyn std::error::Error) -> Issue {
    Issue::error(node.path(""), error.to_string())
}
