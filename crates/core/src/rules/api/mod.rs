//! The control planes, and the addresses at which their APIs answer.

mod control_plane;
mod drain;
mod endpoint;
mod vip;

use super::RuleGroup;

/// The rules by subject.
pub(super) const GROUPS: &[RuleGroup] = &[
    ("Control planes", control_plane::RULES),
    ("Draining", drain::RULES),
    ("VIP", vip::RULES),
    ("Endpoints", endpoint::RULES),
];
