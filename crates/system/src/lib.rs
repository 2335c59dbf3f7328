//! What a program does on the machine it runs on, in one place each: [`mod@file`] replaces files in one step, [`lock`] keeps other
//! processes away, [`program`] runs other programs with a time limit, and [`now`] reads the clock.
//!
//! Not here: daemons and virtual machines. Their supervisors start them.

mod clock;
pub mod file;
pub mod lock;
pub mod program;

pub use clock::now;
