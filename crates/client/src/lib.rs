//! Talos' API over the network, and the few calls to Kubernetes' API.
//!
//! [`talos`] connects to a node, verifies who answers, and makes calls; [`kubernetes`] lists, cordons and drains nodes.

mod clock;
pub mod kubernetes;
pub mod talos;

pub use clock::now;
