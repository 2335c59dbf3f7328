//! `run`: keeps the node's routing as it is meant, until it is told to end.
//!
//! The agent waits for something to happen (`event`): a link, a router, a process, Talos, the health check, a signal, the clock.
//! Whatever it is, the `agent` looks again at what can be done now and does what differs (`act`, `routes`): links, the daemon's
//! configuration, announced addresses, routes. So a start and a change are the same, and one that was killed goes on where it stopped.
//! `ears` hear the routers on ports, `refused` is what the daemon did not take, `look` looks at how it is, `picture` is what is
//! told to others.

mod act;
mod agent;
mod ears;
mod event;
pub mod folder;
mod look;
mod named;
mod picture;
mod refused;
mod routes;

use std::io;
use std::path::PathBuf;

use crate::say;
use crate::serve;
use crate::told::{TellError, Teller};
use agent::Agent;
pub(crate) use agent::chain;
use event::{Event, Events};

/// Where the agent finds things and keeps its own.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who tells it what to do.
    pub teller: Teller,
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
    /// Nobody tells it what to do, or not so that it can be understood.
    #[error(transparent)]
    Told(#[from] TellError),
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

/// Routes until it is told to end.
pub async fn run(settings: Settings) -> Result<(), RunError> {
    let told = settings.teller.ask()?;
    say::set_level(told.duty.log);
    told.remarks.iter().for_each(say::warn);
    let (mut agent, heard) = Agent::new(settings, told.duty)?;
    // From here on no change is missed.
    let mut events = Events::open(&agent, heard)?;
    agent.serve()?;
    agent.advance().await;
    loop {
        match events.next(agent.daemon()).await {
            Event::End => break,
            event => agent.happened(event).await,
        }
        events.follow(&mut agent).await;
    }
    agent.end().await;
    Ok(())
}
