//! Who a node is: what only one node of a cluster may have.

mod asn;
mod duplicate;
mod mac;
pub(super) mod vm_id;

use super::Group;

/// The rules by subject.
pub(super) const GROUPS: &[Group] = &[
    ("Identity", duplicate::RULES),
    ("AS numbers of the nodes", asn::RULES),
    ("MAC addresses", mac::RULES),
    ("Numbers of virtual machines", vm_id::RULES),
];
