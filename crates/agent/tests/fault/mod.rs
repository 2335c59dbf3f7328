//! Faults: the agent as it is installed, killed wherever it may be, and the machine around it looked at.

mod lab;
mod node;
