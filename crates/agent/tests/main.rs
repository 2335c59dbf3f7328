//! The agent beside real kernels, daemons and leafs, in one program, because each that is linked costs seconds.
//!
//! A module that needs root, daemons or a virtual machine is called `lab`, and runs in nextest's profile of that name.

mod bird;
mod fault;
mod frr;
mod gobgp;
mod kernel;
mod run;
mod single;
mod status;
