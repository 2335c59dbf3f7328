//! Tests of the `ichor` binary, in one test program because each one takes seconds to link.
//!
//! Modules named `lab` need root, daemons or a virtual machine, and run in nextest's profile `lab`; those named `long` in `long`.

mod build;
mod check;
mod cilium;
mod common;
mod extension;
mod extension_build;
mod extension_run;
mod factory;
mod generate;
mod image;
mod image_boot;
mod image_hostile;
mod json;
mod lab_fabric;
mod lab_nodes;
mod lab_status;
mod lab_test;
mod lab_vm;
mod lifecycle;
mod machine;
mod media;
mod migrate;
mod node_api;
mod node_queries;
mod prove;
mod reference;
mod schematic;
mod secrets;
mod show;
mod simulated;
mod talos;
mod talos_lifecycle;
mod template;
mod tutorials;
mod up;
mod verify;
