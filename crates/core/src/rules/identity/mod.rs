//! The identity of nodes: values that must be unique in a cluster.

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
