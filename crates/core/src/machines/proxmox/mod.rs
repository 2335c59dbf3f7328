//! Machines on Proxmox VE: which requests make them, and what keeps them from being made.
//!
//! A [`DesiredVm`] is what a node's machine shall be, [`ProxmoxInventory`] what the cluster answered, [`place`](place::place) decides hosts
//! and [`obstacles`](obstacles::obstacles) says what is in the way. A [`ProxmoxRequest`] is one call of the API.

pub mod answer;
pub mod drives;
pub mod obstacles;
pub mod place;
pub mod request;
pub mod task;
pub mod there;
pub mod wanted;

pub use request::ProxmoxRequest;
pub use there::ProxmoxInventory;
pub use wanted::DesiredVm;
