//! The node side of ichor: does what [`ichor_core::agent`] decides.
//!
//! `kernel` is links, addresses and routes by netlink; `daemon` is the routing daemon and how it is asked; `machined` is what
//! Talos tells; `health` is the check behind anycast addresses; `serve` is the state for others; `say` is the log. `told` is where
//! a duty comes from, and `run` puts all of it together.

pub mod daemon;
pub mod grpc;
pub mod health;
pub mod kernel;
pub mod machined;
pub mod run;
pub mod say;
pub mod serve;
pub mod told;
