//! Who a node is: what only one node of a cluster may have.

mod asn;
mod duplicate;
mod mac;
pub(super) mod vm_id;

use super::RuleGroup;

/// The rules by subject.
pub(super) const GROUPS: &[RuleGroup] = &[
    ("Identity", duplicate::RULES),
    ("AS numbers of nodes", asn::RULES),
    ("MAC addresses", mac::RULES),
    ("Virtual machine IDs", vm_id::RULES),
];
