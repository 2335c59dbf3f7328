//! `ichor machine`: the real binary, and what stands in for hypervisors and controllers.

mod bringup;
mod ipmi;
mod lab;
mod proxmox;
mod redfish;
mod web;
