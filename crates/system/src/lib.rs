//! What a program does on the machine it runs on, in one place each: [`mod@file`] replaces files in one step, [`lock`] keeps other
//! processes away, and [`program`] runs other programs, which end in time.
//!
//! Not here: daemons and virtual machines. Their supervisors start them.

pub mod file;
pub mod lock;
pub mod program;
