//! The node side of ichor: applies what [`ichor_bgp::agent`] decides.
//!
//! `config` loads the configuration and `run` is the loop. It reaches the node through `kernel` (links, addresses and routes by
//! netlink) and `daemon` (the routing daemon). `machined` follows Talos' events over `grpc`; `health` checks the
//! service behind anycast addresses, `serve` publishes the status, `log` writes to standard error.

pub mod config;
pub mod daemon;
pub mod grpc;
pub mod health;
pub mod kernel;
pub mod log;
pub mod machined;
pub mod run;
pub mod serve;
