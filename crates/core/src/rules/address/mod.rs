//! Addresses and prefixes: whether they can be derived, have room, and keep out of each other's way.

mod gap;
pub(super) mod holder;
pub(super) mod overlap;
mod prefix;

use super::RuleGroup;

/// The rules by subject.
pub(super) const GROUPS: &[RuleGroup] = &[("Derivation", gap::RULES), ("Prefixes", prefix::RULES)];
