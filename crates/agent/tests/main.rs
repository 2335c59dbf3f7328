//! The agent with real kernels, daemons and leafs. It is one program, because linking each costs seconds.
//!
//! A module that needs root, daemons or a virtual machine is named `lab`, and runs in nextest's profile of that name.

mod bird;
mod fault;
mod frr;
mod gobgp;
mod kernel;
mod run;
mod single;
mod status;
