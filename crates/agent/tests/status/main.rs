//! What the agent tells and hears, with real sockets: probes, machined's events, the socket, pages and mutual TLS.

mod authority;
mod machined;
mod probe;
mod sample;
mod serve;
mod simulator;
