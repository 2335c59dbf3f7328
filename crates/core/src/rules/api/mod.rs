//! The control planes, and the addresses at which their APIs answer.

mod control_plane;
mod drain;
mod endpoint;
mod vip;

use super::Group;

/// The rules by subject.
pub(super) const GROUPS: &[Group] = &[
    ("Control planes", control_plane::RULES),
    ("Draining", drain::RULES),
    ("VIP", vip::RULES),
    ("Endpoints", endpoint::RULES),
];
