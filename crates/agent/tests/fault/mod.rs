//! Faults: the installed agent is killed at any time, and the state of its machine is compared.

mod lab;
mod node;
