//! The agent's inputs and outputs with real sockets: probes, machined's events, the status socket, pages and mutual
//! TLS.

pub mod authority;
mod machined;
mod probe;
mod sample;
mod serve;
pub mod simulator;
