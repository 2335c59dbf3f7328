//! Addresses and prefixes: derivation, size and overlaps.

mod gap;
pub(super) mod node_address;
pub(super) mod overlap;
mod prefix;

use super::RuleGroup;

/// The rules by subject.
pub(super) const GROUPS: &[RuleGroup] = &[("Derivation", gap::RULES), ("Prefixes", prefix::RULES)];
