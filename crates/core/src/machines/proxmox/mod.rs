//! Machines on Proxmox VE: the requests that create them, and blockers.
//!
//! A [`DesiredVm`] is the desired machine of a node and [`ProxmoxInventory`] the cluster's current state.
//! [`place_vms`](placement::place_vms) selects hosts, and [`find_blockers`](blockers::find_blockers) reports what prevents the
//! creation. A [`ProxmoxRequest`] is one API request.

pub mod blockers;
pub mod desired_vm;
pub mod drives;
pub mod inventory;
pub mod placement;
pub mod reply;
pub mod request;
pub mod task;

pub use desired_vm::DesiredVm;
pub use inventory::ProxmoxInventory;
pub use request::ProxmoxRequest;
