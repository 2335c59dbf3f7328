//! The routing daemon: its processes, its configuration, and what it tells.
//!
//! `process` runs programs and keeps them running, whichever they are; `frr` is FRR's suite of daemons; `bird` and `gobgp` are
//! the daemons that are one process, and `place` and `solo` are what those two have in common. `silence` is what all keep in a planned
//! restart. [`RoutingDaemon`] is one of the three.

mod account;
pub mod bird;
pub mod frr;
pub mod gobgp;
pub mod place;
pub mod process;
pub mod release;
mod routing_daemon;
mod silence;
pub mod single_process;

pub use place::replace;
pub use routing_daemon::{DaemonError, Installation, RoutingDaemon, installed};

/// Why a daemon ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It comes back: neighbours keep the node's routes meanwhile, and the kernel those of the neighbours.
    Planned,
    /// The node leaves: neighbours are told, and the kernel forgets.
    Leaving,
}
