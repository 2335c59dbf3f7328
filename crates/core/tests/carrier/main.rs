//! What carries a machine's first configuration: that Talos finds in it what is meant, and when it cannot hold it. In `lab`, what
//! the programs that others use for it and a Linux kernel make of it.

#[path = "../common/mod.rs"]
mod common;
mod rendered;

mod kernel;
mod secrecy;
mod volume;
