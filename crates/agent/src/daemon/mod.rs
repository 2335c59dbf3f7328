//! The routing daemon: its processes, its configuration, and what it tells.
//!
//! `process` runs programs and keeps them running, whichever they are; `frr` is FRR's suite of daemons.

pub mod frr;
pub mod process;
