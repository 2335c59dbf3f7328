//! The routing daemon: its processes, its configuration and its reports.
//!
//! `process` runs and supervises programs of any kind; `frr` is FRR's suite of daemons; `bird` and `gobgp` are daemons
//! with a single process, for which `paths` and `single_process` are shared. `bfd_silence` is the pause of all daemons
//! in a planned restart. [`RoutingDaemon`] is one of the three.

mod account;
mod bfd_silence;
pub mod bird;
pub mod frr;
pub mod gobgp;
pub mod paths;
pub mod process;
pub mod release;
mod routing_daemon;
pub mod single_process;

pub use paths::replace;
pub use routing_daemon::{DaemonError, Installation, RoutingDaemon, installed};

/// Why a daemon is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It comes back: meanwhile neighbours keep the node's routes, and the kernel keeps theirs.
    Planned,
    /// The node leaves: sessions are closed, and the kernel's routes are removed.
    Leaving,
}
