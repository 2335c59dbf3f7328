//! Injects faults into a lab and heals them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ichor_core::lab::comparison::CutMode;
use ichor_core::prove::ProofModel;
use ichor_core::prove::failure::Failure;
use ichor_system::program::ProgramRun;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::services::{SPEAKER, SPEAKER_CONF};
use super::{Lab, LabError, PATIENCE, switch};

/// Errors of injecting and healing faults.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FaultError {
    #[error("`{0}` is ambiguous; name a link such as `cp1:fab0`")]
    Between(String),
    #[error("the speaker of {0} does not run; rebuild the lab with `ichor lab up --replace`")]
    NoSpeaker(String),
    #[error("cannot cut or heal {name}")]
    Cable { name: String, source: io::Error },
    #[error("cannot stop or start the speaker of {name}")]
    Speaker { name: String, source: io::Error },
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// An injected fault, healed on drop.
pub(crate) struct Fault<'l> {
    lab: &'l Lab,
    name: String,
    what: Option<InjectedFault>,
}

enum InjectedFault {
    /// Cut cables, by their ends.
    Cables(Vec<switch::CableEndIndex>),
    /// A stopped speaker process.
    Hung(Pid),
    /// A speaker that closed its session: the machine, and the peer address of the node.
    Closed(usize, String),
}

impl<'l> Fault<'l> {
    /// Injects a fault.
    pub(crate) fn inject(
        lab: &'l Lab,
        subject: &ProofModel,
        failure: Failure,
        cut: CutMode,
    ) -> Result<Self, FaultError> {
        let name = subject.name(failure);
        let what = match failure {
            Failure::Between(..) => return Err(FaultError::Between(name)),
            Failure::Vertex(_) | Failure::Link(_) => {
                let ends = switch::find_ends(lab, std::slice::from_ref(&name))?;
                switch::cut(lab, &ends, cut == CutMode::Silent)
                    .map_err(|source| FaultError::Cable { name: name.clone(), source })?;
                InjectedFault::Cables(ends)
            }
            Failure::Speaker(node) => {
                let node = subject.network.nodes[node as usize].name.to_string();
                stop_speaker(lab, &node, &name, cut)?
            }
        };
        Ok(Self { lab, name, what: Some(what) })
    }

    /// Heals the fault.
    pub(crate) fn heal(mut self) -> Result<(), FaultError> {
        self.undo()
    }

    fn undo(&mut self) -> Result<(), FaultError> {
        let name = self.name.clone();
        match self.what.take() {
            None => Ok(()),
            Some(InjectedFault::Cables(ends)) => {
                switch::heal(self.lab, &ends).map_err(|source| FaultError::Cable { name, source })
            }
            Some(InjectedFault::Hung(pid)) => {
                let resumed = kill(pid, Signal::SIGCONT);
                resumed.map_err(|errno| FaultError::Speaker { name, source: errno.into() })
            }
            Some(InjectedFault::Closed(machine, peer)) => set_session(self.lab, machine, &peer, "enable")
                .map_err(|source| FaultError::Speaker { name, source }),
        }
    }
}

impl Drop for Fault<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.undo() {
            crate::style::say(&format!("{error}; run `ichor lab heal` to heal every cable"));
        }
    }
}

/// Stops a speaker silently, or closes its session.
fn stop_speaker(lab: &Lab, node: &str, name: &str, cut: CutMode) -> Result<InjectedFault, FaultError> {
    let machine = lab.machine(node)?;
    let wrong = |source| FaultError::Speaker { name: name.to_owned(), source };
    if cut == CutMode::Carrier {
        let session = lab.topology().sessions.iter().find(|session| session.other.name == name);
        let peer = session.map(|session| session.other.peer.clone());
        let peer = peer.ok_or_else(|| FaultError::NoSpeaker(node.to_owned()))?;
        set_session(lab, machine, &peer, "disable").map_err(wrong)?;
        return Ok(InjectedFault::Closed(machine, peer));
    }
    let pid = speaker_pid(lab.record.machine_pids[machine]).map_err(wrong)?;
    let pid = pid.ok_or_else(|| FaultError::NoSpeaker(node.to_owned()))?;
    kill(pid, Signal::SIGSTOP).map_err(|errno| wrong(errno.into()))?;
    Ok(InjectedFault::Hung(pid))
}

/// Disables or enables the session of a speaker with its node.
fn set_session(lab: &Lab, machine: usize, peer: &str, what: &str) -> io::Result<()> {
    let mut command = lab.enter_netns(machine);
    command.args(["gobgp", "--target", &format!("unix://{SPEAKER}"), "neighbor", peer, what]);
    let output = ProgramRun::new(command, PATIENCE).run()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(output.stderr_text().trim().to_owned()))
}

/// PID of the speaker in the machine with this init process.
fn speaker_pid(first: i32) -> io::Result<Option<Pid>> {
    let namespace = |pid: &Path| fs::read_link(pid.join("ns/pid")).ok();
    let own = namespace(&PathBuf::from(format!("/proc/{first}")));
    for entry in fs::read_dir("/proc")? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|_| own.is_some() && namespace(&path) == own) else { continue };
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        if words.any(|word| word == SPEAKER_CONF.as_bytes()) {
            return Ok(Some(Pid::from_raw(number)));
        }
    }
    Ok(None)
}
