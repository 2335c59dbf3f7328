//! `ichor machine` with stand-ins for hypervisors and BMCs.

mod bringup;
mod ipmi;
mod lab;
mod proxmox;
mod redfish;
mod web;
