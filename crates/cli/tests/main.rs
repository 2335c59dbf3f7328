//! The command as a user runs it, in one program, because each that is linked costs seconds.
//!
//! A module that needs root, daemons or a virtual machine is called `lab`, and runs in nextest's profile of that name.

mod asked;
mod build;
mod check;
mod cilium;
mod common;
mod extension;
mod extension_build;
mod extension_run;
mod generate;
mod image;
mod image_boot;
mod image_hostile;
mod lab_fabric;
mod lab_nodes;
mod lab_status;
mod lab_test;
mod lab_vm;
mod machine;
mod media;
mod migrate;
mod prove;
mod reference;
mod schematic;
mod secrets;
mod show;
mod simulated;
mod talos;
mod template;
mod tutorials;
mod up;
mod upkeep;
mod verify;
