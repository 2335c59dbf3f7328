//! Overlays, the pod network, and the remaining MTU.

mod cilium;
mod cni;
mod manifest;
mod mtu;
pub(super) mod overlay;

use super::RuleGroup;

/// The rules by subject.
pub(super) const GROUPS: &[RuleGroup] = &[
    ("Overlay", overlay::RULES),
    ("Pod network", cni::RULES),
    ("Cilium", cilium::RULES),
    ("Manifests", manifest::RULES),
    ("MTU", mtu::RULES),
];
