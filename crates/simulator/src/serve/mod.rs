//! Simulated Talos nodes, by their API only: run by `ichor lab nodes`.
//!
//! [`crate::fleet`] decides what nodes do. Here a [`SimulatorState`] gives them a clock, [`listeners`] the sockets that are
//! open at a time, with certificates of [`certificates`]; [`talos`] and [`kubernetes`] answer there, [`stream`] with streams.
//! A [`journal`] records every call, and [`control`] lets another process inject faults and stop the nodes.
//!
//! All nodes run in one process and one runtime.

mod certificates;
pub mod control;
mod journal;
mod kubernetes;
mod listeners;
mod state;
mod stream;
mod talos;

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use crate::fleet::scenario;
use crate::fleet::scenario::Scenario;
use crate::fleet::{CertificateAuthorities, Fault, Fleet};
use ichor_system::lock::LockFile;
use ichor_talos::api::PORT;
use ichor_talos::secrets::{IssueError, self_signed};
use rand_core::OsRng;
use tokio::signal::unix::{SignalKind, signal};

pub use state::SimulatorState;

use journal::Journal;

/// Why nodes cannot be simulated.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum SimulatorError {
    #[error("cannot use {}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("simulated nodes are already running; stop them with `ichor lab nodes stop -o {}`", folder.display())]
    Runs { folder: PathBuf },
    #[error("127.{id}.0.0/16 is in use by other simulated nodes; omit --id, or choose another one")]
    Taken { id: u8 },
    #[error("every network from 127.1.0.0/16 to 127.254.0.0/16 is in use by other simulated nodes")]
    AllTaken,
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
}

/// The files of nodes that run, beside a cluster file.
#[derive(Clone, Debug)]
pub struct SimulatorFolder {
    folder: PathBuf,
}

impl SimulatorFolder {
    /// Beside the cluster file of a folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The folder of the cluster.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn state(&self) -> PathBuf {
        self.folder.join("simulator")
    }

    /// The path of the journal.
    pub fn journal(&self) -> PathBuf {
        self.state().join("journal.jsonl")
    }

    /// The output of nodes that run in the background.
    pub fn log(&self) -> PathBuf {
        self.state().join("log")
    }

    fn socket(&self) -> PathBuf {
        self.state().join("control.sock")
    }

    /// Makes the folder.
    pub fn make(&self) -> Result<(), SimulatorError> {
        let path = self.state();
        fs::create_dir_all(&path).map_err(|source| SimulatorError::Folder { path, source })
    }

    /// Takes the folder for nodes that are to run here; the kernel gives it back when their process is gone.
    pub fn lock(&self) -> Result<LockFile, SimulatorError> {
        let lock = LockFile::try_take(&self.state().join("lock"));
        let lock = lock.map_err(|error| SimulatorError::Folder { path: error.path, source: error.source })?;
        lock.ok_or_else(|| SimulatorError::Runs { folder: self.folder.clone() })
    }
}

/// A claim of a loopback network: other simulated nodes cannot use it while this exists.
pub struct NetworkClaim {
    /// Its number.
    pub id: u8,
    listener: TcpListener,
}

impl NetworkClaim {
    /// Takes the network of a number, or the first that is free.
    pub fn claim(id: Option<u8>) -> Result<Self, SimulatorError> {
        let bind = |id: u8| {
            let address = SocketAddr::from((Scenario::claim(id), PORT));
            TcpListener::bind(address).ok().map(|listener| Self { id, listener })
        };
        match id {
            Some(id) => bind(id).ok_or(SimulatorError::Taken { id }),
            None => scenario::IDS.rev().find_map(bind).ok_or(SimulatorError::AllTaken),
        }
    }
}

impl From<NetworkClaim> for Stdio {
    /// Standard input of a process that has the claim then, for as long as it lives.
    fn from(claim: NetworkClaim) -> Self {
        OwnedFd::from(claim.listener).into()
    }
}

/// Runs nodes until a signal or a request stops them, with or without power at first; calls `ready` once they answer.
pub async fn run(
    fleet: Fleet,
    site: &SimulatorFolder,
    powered: bool,
    ready: impl FnOnce(),
) -> Result<(), SimulatorError> {
    let journal = site.journal();
    let begun = Journal::begin(&journal);
    let world =
        SimulatorState::new(fleet, begun.map_err(|source| SimulatorError::Folder { path: journal, source })?);
    let control = control::ControlSocket::open(site, Arc::clone(&world))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(SimulatorError::Signals)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(SimulatorError::Signals)?;
    world.act(|fleet, now| {
        for nth in (0..fleet.machines.len()).filter(|_| powered) {
            fleet.power_on(nth, now);
        }
    });
    ready();
    tokio::select! {
        () = world.run() => {}
        () = listeners::run_listeners(Arc::clone(&world)) => {}
        () = control.serve() => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// Injects a fault into a node. A machine that belongs to another cluster gets authorities of its own.
pub fn inject_fault(fleet: &mut Fleet, nth: usize, fault: Fault, now: Duration) -> Result<(), IssueError> {
    let strangers = if fault == Fault::OtherCa {
        let made = || self_signed("stranger", &mut OsRng, ichor_system::now());
        Some(CertificateAuthorities { os: made()?, k8s: made()? })
    } else {
        None
    };
    fleet.spoil(nth, fault, strangers, now);
    Ok(())
}
