//! What the agent on a node decides: the same code at the desk and on the node.
//!
//! A [`AgentConfig`] is what the agent is told, by the file of a build or by environment variables. Together with the kernel's
//! [`Link`]s it becomes a [`DesiredState`]: what can be done now. From that follow the [`Wiring`] of the node, the
//! daemon's files ([`DesiredState::render`]), and in the end the [`Session`]s that are told.
//!
//! Not here: doing any of it, which is `crates/agent`.

pub mod advertisement;
pub mod bird;
pub mod config;
pub mod detection;
pub mod environment;
pub mod frr;
pub mod gate;
pub mod gobgp;
pub mod link;
pub mod rival;
pub mod route;
pub mod scene;
pub mod session;
pub mod status;
pub mod stood;
pub mod trouble;
pub mod wiring;

pub use config::AgentConfig;
pub use gate::HealthGate;
pub use link::Link;
pub use scene::DesiredState;
pub use session::Session;
pub use status::AgentStatus;
pub use wiring::Wiring;
