//! `ichor-agent` from the view of a user and of Talos: the program itself, with real daemons on the node and around it.

mod command;
mod lab;

/// The program.
pub const AGENT: &str = env!("CARGO_BIN_EXE_ichor-agent");
