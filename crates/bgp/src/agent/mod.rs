//! The decisions of the agent: the same code in a build and on the node.
//!
//! An [`AgentConfig`] comes from the file of a build or from environment variables. Together with the kernel's
//! [`Link`]s it gives the [`DesiredState`] under current conditions. From that follow the [`Wiring`] of the node, the
//! daemon's files ([`DesiredState::render`]) and the [`Session`]s to report.
//!
//! Not here: applying any of it, which `crates/agent` does.

pub mod advertisement;
pub mod bird;
pub mod config;
pub mod conflicting_daemon;
pub mod desired_state;
pub mod detection;
pub mod diagnosis;
pub mod environment;
pub mod frr;
pub mod gobgp;
pub mod health_gate;
pub mod last_mac;
pub mod link;
pub mod route;
pub mod session;
pub mod status;
pub mod wiring;

pub use config::AgentConfig;
pub use desired_state::DesiredState;
pub use health_gate::HealthGate;
pub use link::Link;
pub use session::Session;
pub use status::AgentStatus;
pub use wiring::Wiring;
