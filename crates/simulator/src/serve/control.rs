//! Control of running simulated nodes: a socket in their folder, one line of JSON in each direction.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream as StdStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::fleet::{Fault, FaultError, Fleet, Phase, stage_word};
use ichor_talos::secrets::IssueError;
use ichor_values::format::{Document, FormatError, Version, Versioned};
use ichor_values::nearest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;

use super::state::SimulatorState;
use super::{SimulatorError, SimulatorFolder};

/// The timeout of a response.
const PATIENCE: Duration = Duration::from_secs(10);

/// The version of the protocol on the socket. The nodes may have been started by another release.
const VERSION: Version = Version::new(1, 0);

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum ControlRequest {
    /// Returns the status of the nodes.
    Status,
    /// Injects a fault into a node.
    Fault {
        /// The fault, in the form `NODE:KIND[=VALUE]`.
        fault: String,
    },
    /// Heals a node: all faults, or one kind.
    Heal {
        /// The node.
        node: String,
        /// The only kind of fault to end; all if absent.
        kind: Option<String>,
    },
    /// Powers a node on or off.
    Power {
        /// The node.
        node: String,
        /// Whether it has power.
        on: bool,
    },
    /// Stops the nodes.
    Stop,
}

/// Why a request fails.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum ControlError {
    #[error("no simulated nodes run in {}; start them with `ichor lab nodes`", folder.display())]
    None { folder: PathBuf },
    #[error("the simulated nodes in {} do not answer", folder.display())]
    Silent { folder: PathBuf, source: io::Error },
    #[error("cannot parse the response of the simulated nodes in {}: {error}; use the ichor release that started them", folder.display())]
    Format { folder: PathBuf, error: FormatError },
    #[error("{0}")]
    Refused(String),
}

/// A name that no simulated node has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown node `{name}`{}", near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
pub struct UnknownNode {
    name: String,
    near: Option<String>,
}

/// Why running nodes reject a request.
#[derive(Debug, thiserror::Error)]
enum ControlRequestError {
    #[error(
        "the simulated nodes do not understand the request: {0}; use the ichor release that started them"
    )]
    Format(FormatError),
    #[error(transparent)]
    Node(#[from] UnknownNode),
    #[error(transparent)]
    Fault(#[from] FaultError),
    #[error(transparent)]
    Authority(#[from] IssueError),
}

/// The socket of nodes that run; it is gone when they are.
pub(super) struct ControlSocket {
    listener: UnixListener,
    world: Arc<SimulatorState>,
    path: PathBuf,
    stop: Arc<Notify>,
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // A leftover socket is replaced by the next start.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl ControlSocket {
    /// Opens the socket in a locked folder: an existing one is a leftover of ended nodes.
    pub(super) fn open(site: &SimulatorFolder, world: Arc<SimulatorState>) -> Result<Self, SimulatorError> {
        let path = site.socket();
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path);
        let listener = listener.map_err(|source| SimulatorError::Folder { path: path.clone(), source })?;
        Ok(Self { listener, world, path, stop: Arc::new(Notify::new()) })
    }

    /// Serves requests until one stops the nodes.
    pub(super) async fn serve(&self) {
        loop {
            tokio::select! {
                guest = self.listener.accept() => {
                    if let Ok((stream, _)) = guest {
                        tokio::spawn(serve_client(stream, Arc::clone(&self.world), Arc::clone(&self.stop)));
                    }
                }
                () = self.stop.notified() => return,
            }
        }
    }
}

async fn serve_client(stream: UnixStream, world: Arc<SimulatorState>, stop: Arc<Notify>) {
    let (from, mut to) = stream.into_split();
    let mut lines = tokio::io::BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let wish = read(&line);
        let answer = match &wish {
            Ok(wish) => world.act(|fleet, now| execute(fleet, wish, now)),
            Err(error) => Err(ControlRequestError::Format(error.clone())),
        };
        let answer = answer.unwrap_or_else(|error| json!({"error": error.to_string()}));
        let answer = json!(Versioned::new(VERSION, answer));
        if to.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
        if matches!(wish, Ok(ControlRequest::Stop)) {
            stop.notify_one();
        }
    }
}

fn read(line: &str) -> Result<ControlRequest, FormatError> {
    Ok(Document::parse(line, VERSION)?.read()?.0)
}

fn execute(fleet: &mut Fleet, wish: &ControlRequest, now: Duration) -> Result<Value, ControlRequestError> {
    match wish {
        ControlRequest::Status => Ok(status(fleet)),
        ControlRequest::Stop => Ok(json!({})),
        ControlRequest::Fault { fault } => {
            let (node, fault) = Fault::parse(fault)?;
            let nth = find_machine(fleet, &node)?;
            super::inject_fault(fleet, nth, fault, now)?;
            Ok(json!({}))
        }
        ControlRequest::Heal { node, kind } => {
            let nth = find_machine(fleet, node)?;
            if let Some(kind) = kind.as_deref().filter(|kind| !Fault::KINDS.contains(kind)) {
                return Err(FaultError::Unknown { kind: kind.to_owned() }.into());
            }
            let healed = fleet.heal(nth, kind.as_deref(), now);
            Ok(json!({"healed": healed}))
        }
        ControlRequest::Power { node, on } => {
            let nth = find_machine(fleet, node)?;
            if *on {
                fleet.power_on(nth, now);
            } else {
                fleet.power_off(nth);
            }
            Ok(json!({}))
        }
    }
}

/// The machine of a name, or a suggestion for a misspelt one.
pub fn find_machine(fleet: &Fleet, name: &str) -> Result<usize, UnknownNode> {
    find_name(fleet.machines.iter().map(|machine| machine.hardware.name.as_str()), name)
}

/// The index of a name among others, or a suggestion for a misspelt one.
pub fn find_name<'n>(names: impl Iterator<Item = &'n str> + Clone, name: &str) -> Result<usize, UnknownNode> {
    names
        .clone()
        .position(|known| known == name)
        .ok_or_else(|| UnknownNode { name: name.to_owned(), near: nearest(name, names).map(str::to_owned) })
}

fn status(fleet: &Fleet) -> Value {
    let nodes = (0..fleet.machines.len()).map(|nth| {
        let machine = &fleet.machines[nth];
        let listeners = fleet.listeners(nth);
        json!({
            "node": machine.hardware.name,
            "stage": stage_word(machine.stage()),
            "phase": phase_word(machine.phase),
            "ready": fleet.is_ready(nth),
            "talos_version": machine.release.to_string(),
            "addresses": listeners.addresses,
            "faults": machine.faults.all().map(Fault::kind).collect::<Vec<_>>(),
        })
    });
    json!({"nodes": nodes.collect::<Vec<_>>(), "bootstrap_count": fleet.bootstraps()})
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Off => "off",
        Phase::Dark => "booting",
        Phase::Maintenance => "maintenance",
        Phase::Accepted => "accepted",
        Phase::Installing => "installing",
        Phase::Up => "up",
        Phase::Ending(_) => "ending",
    }
}

/// Sends a request to the nodes that run in a folder.
pub fn send_request(site: &SimulatorFolder, wish: &ControlRequest) -> Result<Value, ControlError> {
    let folder = || site.folder().to_owned();
    let stream = StdStream::connect(site.socket()).map_err(|_| ControlError::None { folder: folder() })?;
    let asked = || -> io::Result<Value> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let wish = serde_json::to_string(&Versioned::new(VERSION, wish))?;
        (&stream).write_all(format!("{wish}\n").as_bytes())?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    let answer = asked().map_err(|source| ControlError::Silent { folder: folder(), source })?;
    let answer = Document::new(answer, VERSION)
        .map_err(|error| ControlError::Format { folder: folder(), error })?
        .into_content();
    match answer.get("error").and_then(Value::as_str) {
        Some(refused) => Err(ControlError::Refused(refused.to_owned())),
        None => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_by_their_version() {
        let wish = ControlRequest::Heal { node: "cp1".to_owned(), kind: None };
        let sent = json!(Versioned::new(VERSION, &wish));

        assert_eq!(sent, json!({"version": "1.0", "do": "heal", "node": "cp1", "kind": null}));
        assert_eq!(read(&sent.to_string()), Ok(wish));
        let newer = read(r#"{"version": "2.0", "do": "status"}"#).unwrap_err().to_string();
        assert_eq!(newer, "format version 2.0 is newer than 1.0, the newest that this release reads");
    }
}
