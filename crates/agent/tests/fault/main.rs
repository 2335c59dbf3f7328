//! Faults: the agent as it is installed, killed wherever it may be, and the machine around it looked at.

#[path = "../frr/common/mod.rs"]
mod common;
mod lab;
mod node;
