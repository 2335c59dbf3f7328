//! BGP on a node: what it means, the configuration of each daemon, and what the agent decides.
//!
//! [`model`] is a node's BGP in no daemon's words, [`render`] turns it into the files of FRR, BIRD or GoBGP, [`reload`] compares
//! what FRR runs with what it should run, and [`agent`] is the agent's configuration and its decisions.
//!
//! Not here: how a cluster becomes a model (`ichor_core::routing`), and anything that touches a kernel or a daemon.

pub mod agent;
pub mod model;
pub mod reload;
pub mod render;
pub mod setting;
