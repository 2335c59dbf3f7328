//! The way from the releases that nodes run to those of the file.
//!
//! [`look()`] finds out what every node runs, core's [`plan`](ichor_core::upgrade::plan) decides, and [`walk()`] goes from node to node
//! and stops at the first that is not well. Nothing is recorded: what was done is seen in the cluster.

mod look;
mod walk;

use std::time::Duration;

use crate::reach::Way;

pub(crate) use look::look;
pub(crate) use walk::{Stopped, walk};

/// What is ordered.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Order<'o> {
    pub way: &'o Way,
    pub only: &'o [String],
    pub dry_run: bool,
    pub json: bool,
    pub yes: bool,
    pub outage: bool,
    /// How long a node may take to come back, and a cluster to be well.
    pub timeout: Duration,
    /// How long pods may take to leave.
    pub drain_timeout: Duration,
}
