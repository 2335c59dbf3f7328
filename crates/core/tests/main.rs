//! Tests of the library from outside. They are one program, because each program that links the crate costs seconds.
//!
//! A module that needs root, daemons or a virtual machine is called `lab`, and runs in nextest's profile of that name.

mod bird;
mod bringup;
mod cni;
mod differential;
mod ends;
mod explain;
mod fabric;
mod findings;
mod formats;
mod frr;
mod gobgp;
mod golden;
mod hypervisor;
mod kubernetes;
mod lab_report;
mod lab_topology;
mod machine;
mod media;
mod migrate;
mod native;
mod network;
mod properties;
mod prove;
mod reference;
mod refused;
mod reload;
mod routing;
mod rule_messages;
mod rules;
mod templates;
mod topology;
mod vrf;
