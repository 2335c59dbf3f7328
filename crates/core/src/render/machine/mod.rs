//! The Talos configuration of a node, from the plan.
//!
//! [`network`] is what a node's links, names and addresses become.

pub mod network;
