//! What the product decides, tested from outside: one program, because each that links the crate costs seconds.
//!
//! A module that needs root, daemons or a virtual machine is called `lab`, and runs in nextest's profile of that name.

mod bird;
mod bringup;
mod cni;
mod differential;
mod ends;
mod fabric;
mod findings;
mod formats;
mod frr;
mod gobgp;
mod golden;
mod hypervisor;
mod lab_report;
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
mod rules;
mod said;
mod scene;
mod templates;
mod topology;
mod vrf;
mod why;
