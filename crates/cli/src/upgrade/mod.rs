//! Upgrades nodes from their installed Talos release to that of the cluster file.
//!
//! [`collect_candidates`] queries every node, core's [`plan`](ichor_core::upgrade::plan) decides, and [`upgrade_nodes`] upgrades one
//! node after the other and stops at the first failure. Nothing is recorded: the cluster shows what is done.

mod candidates;
mod rollout;

use std::time::Duration;

use crate::connect::ConnectOptions;

pub(crate) use candidates::collect_candidates;
pub(crate) use rollout::{UpgradeFailure, upgrade_nodes};

/// Options of `ichor upgrade`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct UpgradeOptions<'o> {
    pub way: &'o ConnectOptions,
    pub only: &'o [String],
    pub dry_run: bool,
    pub json: bool,
    pub yes: bool,
    pub outage: bool,
    /// Time limit for a node to come back, and for the cluster to become healthy.
    pub timeout: Duration,
    /// Time limit for evicting pods.
    pub drain_timeout: Duration,
}
