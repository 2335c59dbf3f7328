//! Access to the host system: [`mod@file`] replaces files atomically, [`lock`] excludes other processes,
//! [`program`] runs other programs with a timeout, and [`now`] reads the clock.
//!
//! Not here: daemons and virtual machines. Their supervisors start them.

mod clock;
pub mod file;
pub mod lock;
pub mod program;

pub use clock::now;
