//! What the agent tells and hears, with real sockets: probes, machined's events, the socket, pages and mutual TLS.

pub mod authority;
mod machined;
mod probe;
mod sample;
mod serve;
pub mod simulator;
