//! `ichor machine`: the real binary, and what stands in for hypervisors and controllers.

#[path = "../common/mod.rs"]
mod common;
mod hosts;
mod ipmi;
mod lab;
mod proxmox;
mod redfish;
mod web;
