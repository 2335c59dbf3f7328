//! `ichor machine`: the real binary, and what stands in for hypervisors and controllers.

mod bringup;
#[path = "../common/mod.rs"]
mod common;
mod ipmi;
mod lab;
mod proxmox;
mod redfish;
#[allow(dead_code, reason = "each test uses its part")]
#[path = "../up/simulated.rs"]
mod simulated;
mod web;
