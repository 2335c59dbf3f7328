//! BGP on a node: the model, the configuration of each daemon, and the decisions of the agent.
//!
//! [`model`] is a node's BGP independent of any daemon, [`render`] turns it into the files of FRR, BIRD or GoBGP,
//! [`reload`] compares FRR's running configuration with the intended one, and [`agent`] is the agent's configuration
//! and its decisions.
//!
//! Not here: how a cluster becomes a model (`ichor_core::routing`), and any access to a kernel or a daemon.

pub mod agent;
pub mod model;
pub mod reload;
pub mod render;
pub mod setting;
