//! `run`: keeps the node's routing in the desired state until a signal stops it.
//!
//! The agent waits for events (`event`): of links, routers and processes, from Talos, from the health check, signals, and a timer.
//! On each one `agent` computes the desired state and applies the difference (`apply`, `routes`): links, the daemon's
//! configuration, announced addresses, routes. A start and a change are the same, so an agent that was killed continues where it
//! stopped.
//!
//! `host` is the loop's interface to the node, `linux` implements it, with `ra` for router advertisements on ports. `daemon_state`
//! records which configuration is desired, running or rejected (`rejected`), `known_routers` the routers that BIRD needs by
//! address. `status` polls the daemon, `diagnosis` finds the problems of sessions, `reporting` publishes them. `state_dir` is the
//! state that survives a restart of the agent.

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

/// The paths and ports of the agent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Loads the configuration.
    pub loader: ConfigLoader,
    /// The run directory, which does not survive a reboot.
    pub run: PathBuf,
    /// The port on 127.0.0.1 that serves the status; none to disable it.
    pub port: Option<u16>,
    /// machined's socket.
    pub machined: PathBuf,
}

/// The agent cannot run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration cannot be loaded.
    #[error(transparent)]
    Config(#[from] LoadError),
    /// Netlink sockets or signal handlers cannot be opened.
    #[error("cannot open netlink sockets or signal handlers")]
    Kernel(#[source] io::Error),
    /// The run directory cannot be used.
    #[error("cannot use run directory {}", path.display())]
    Folder {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another agent uses the run directory.
    #[error("another agent uses run directory {}; stop it first", path.display())]
    Taken {
        /// The directory.
        path: PathBuf,
    },
    /// The status socket cannot be created.
    #[error(transparent)]
    Socket(#[from] serve::socket::SocketBindError),
}

/// Keeps the node's routing in the desired state until a signal stops it.
pub async fn run(settings: Settings) -> Result<(), RunError> {
    let loaded = settings.loader.load()?;
    log::set_level(loaded.config.log);
    loaded.warnings.iter().for_each(log::warn);
    let state_dir = StateDir::open(&settings.run)?;
    let host = LinuxHost::open(settings.run.clone(), loaded.config.backend).map_err(RunError::Kernel)?;
    let requests = event::signals()?;
    let mut agent = Agent::new(settings, loaded.config, state_dir, host);
    agent.serve()?;
    // The loop's state is large.
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
