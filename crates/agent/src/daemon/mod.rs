//! The routing daemon: its processes, its configuration, and what it tells.
//!
//! `process` runs programs and keeps them running, whichever they are; `frr` is FRR's suite of daemons; `bird` and `gobgp` are the
//! daemons that are one process, and `place` and `solo` are what those two have in common.

pub mod bird;
pub mod frr;
pub mod gobgp;
pub mod place;
pub mod process;
pub mod solo;

pub use frr::Stop;
