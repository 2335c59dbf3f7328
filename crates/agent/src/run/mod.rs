//! `run`: keeps the node's routing in the desired state until it is asked to stop.
//!
//! The agent waits for an event (`event`): of a link, a router or a process, from Talos, from the health check, a signal, the
//! clock. With each one the `agent` computes what can be done now and applies the difference (`apply`, `routes`): links, the daemon's
//! configuration, announced addresses, routes. So a start and a change are the same, and an agent that was killed continues where it
//! stopped.
//!
//! `host` is all that the loop knows of the node, `linux` is the real one, with `ra` for router advertisements on its ports.
//! `daemon_state` is which configuration is desired, running or rejected (`rejected`), `known_routers` are those that BIRD needs by
//! address. `status` polls, `diagnosis` says what is wrong with a session, `reporting` is who gets to know it. `state_dir` is what
//! survives a restart of the agent.

mod agent;
mod apply;
mod daemon_state;
mod diagnosis;
mod event;
mod host;
mod known_routers;
mod linux;
mod ra;
mod rejected;
mod reporting;
mod routes;
pub mod state_dir;
mod status;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use crate::config::{ConfigLoader, LoadError};
use crate::log;
use crate::serve;
use agent::Agent;
use linux::LinuxHost;
use state_dir::StateDir;

/// Where the agent finds things and keeps its own.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Loads its configuration.
    pub loader: ConfigLoader,
    /// The folder of what is gone after a reboot.
    pub run: PathBuf,
    /// The port of this node on which the state is served; none when it is not.
    pub port: Option<u16>,
    /// machined's socket.
    pub machined: PathBuf,
}

/// The agent cannot run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It has no configuration that it understands.
    #[error(transparent)]
    Config(#[from] LoadError),
    /// The kernel cannot be talked to.
    #[error("cannot talk to the kernel")]
    Kernel(#[source] io::Error),
    /// Its folder cannot be made.
    #[error("cannot use the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another agent has the folder.
    #[error("another agent runs with the folder {}; end it first", path.display())]
    Taken {
        /// The folder.
        path: PathBuf,
    },
    /// Its socket cannot be made.
    #[error(transparent)]
    Socket(#[from] serve::socket::BindError),
}

/// Keeps the node's routing in the desired state until a signal asks it to stop.
pub async fn run(settings: Settings) -> Result<(), RunError> {
    let loaded = settings.loader.load()?;
    log::set_level(loaded.duty.log);
    loaded.remarks.iter().for_each(log::warn);
    let state_dir = StateDir::open(&settings.run)?;
    let host = LinuxHost::open(settings.run.clone(), loaded.duty.backend).map_err(RunError::Kernel)?;
    let requests = event::signals()?;
    let mut agent = Agent::new(settings, loaded.duty, state_dir, host);
    agent.serve()?;
    // The loop's state is large, and the same box is used to the end.
    Box::pin(agent.run(requests)).await;
    Ok(())
}

/// An error and its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
