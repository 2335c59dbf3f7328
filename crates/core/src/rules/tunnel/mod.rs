//! Networks over the network: overlays, the pod network, and the MTU they leave.

mod cni;
mod mtu;
pub(super) mod overlay;

use super::Group;

/// The rules by subject.
pub(super) const GROUPS: &[Group] =
    &[("Overlay", overlay::RULES), ("Pod network", cni::RULES), ("MTU", mtu::RULES)];
