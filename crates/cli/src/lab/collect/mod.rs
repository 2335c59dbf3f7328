//! Asks the machines of a lab how it is with them: daemons and agents by their sockets, the kernel by netlink, all machines at once.
//!
//! Nothing is started for that but gobgp, which is asked only when there may be news. What it all means is in `core`.

mod memory;
mod netlink;
mod speaker;
mod vty;

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ichor_bgp::agent::session::SessionState;
use ichor_bgp::agent::status::{PeerRole, StatusError};
use ichor_bgp::agent::{AgentStatus, Session, frr};
use ichor_core::lab::LabStatus;
use ichor_core::lab::scene::MachineRole;
use ichor_core::lab::view::{CableState, CutCable, DaemonReport, MachineReport};
use ichor_core::probe::ProbeError;
use nix::sched::{CloneFlags, setns};

use super::guest::GuestStateError;
use super::{Lab, guest, switch, vm};

/// How long a daemon may take to answer; where all is emulated, so that one that only is slow is not taken for one that is not there.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
const EMULATED_ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How many machines are asked at once.
const THREADS: usize = 8;
/// At one look of so many, a speaker is asked without a reason, and memory is counted.
const FULL_REFRESH_EVERY: usize = 10;

/// Why a machine does not say how it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CollectError {
    #[error("bgpd does not answer: {0}")]
    Bgpd(io::Error),
    #[error(transparent)]
    Sessions(#[from] frr::ReplyError),
    #[error("the agent does not answer: {0}")]
    Agent(io::Error),
    #[error(transparent)]
    Status(#[from] StatusError),
    #[error("the agent does not say how it is")]
    NoStatus,
    #[error(transparent)]
    Halted(#[from] GuestStateError),
    #[error("gobgp: {0}")]
    Gobgp(io::Error),
    #[error("the speaker does not answer: {0}")]
    Speaker(String),
    #[error(transparent)]
    SpeakerSessions(#[from] ichor_core::lab::view::speaker::SpeakerReplyError),
}

/// Whoever looks at a lab, again and again.
pub(crate) struct Collector<'l> {
    lab: &'l Lab,
    rounds: usize,
    memory: Vec<u64>,
    speakers: Vec<Option<SpeakerAnswer>>,
}

/// What a speaker last said, and what the node said of their session then.
#[derive(Clone)]
struct SpeakerAnswer {
    said: Result<Vec<Session>, Arc<CollectError>>,
    node: Option<SessionState>,
}

impl<'l> Collector<'l> {
    /// Somebody who has not looked yet.
    pub(crate) fn new(lab: &'l Lab) -> Self {
        let machines = lab.scene().machines.len();
        Self { lab, rounds: 0, memory: vec![0; machines], speakers: vec![None; machines] }
    }

    /// Looks at everything.
    pub(crate) fn collect(&mut self) -> LabStatus {
        if self.rounds.is_multiple_of(FULL_REFRESH_EVERY) {
            self.memory = memory::private_bytes(&self.lab.record.machines);
        }
        let heard = self.query_machines();
        self.rounds += 1;
        let scene = self.lab.scene();
        LabStatus::of(self.lab.place.name(), scene, &heard, cut_cables(self.lab), ichor_system::now())
    }

    /// Asks every machine, some at once.
    fn query_machines(&mut self) -> Vec<MachineReport> {
        let machines = self.lab.scene().machines.len();
        let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(machines)));
        let this = &*self;
        thread::scope(|threads| {
            for _ in 0..THREADS.min(machines) {
                threads.spawn(|| {
                    while let Some(nth) =
                        Some(next.fetch_add(1, Ordering::Relaxed)).filter(|nth| *nth < machines)
                    {
                        let answer = this.query_machine(nth);
                        answers.lock().expect("nobody panics with it").push((nth, answer));
                    }
                });
            }
        });
        let mut answers = answers.into_inner().expect("nobody panics with it");
        answers.sort_by_key(|(nth, _)| *nth);
        let mut heard = Vec::with_capacity(machines);
        for (nth, (answer, speaker)) in answers {
            self.speakers[nth] = speaker;
            heard.push(answer);
        }
        heard
    }

    /// Asks one machine. The thread is in the machine's network afterwards.
    fn query_machine(&self, nth: usize) -> (MachineReport, Option<SpeakerAnswer>) {
        let pid = self.lab.record.machines[nth];
        let part = &self.lab.scene().machines[nth].part;
        let said = query_daemon(self.lab, nth).map_err(ProbeError::new);
        if matches!(part, MachineRole::Guest(_)) {
            return (
                MachineReport { said, speaker: None, routes: Vec::new(), memory: self.memory[nth] },
                None,
            );
        }
        let routes = enter_netns(pid).and_then(|()| netlink::routes());
        let (said, routes) = match routes {
            Ok(routes) => (said, routes),
            // Without its network there is no machine.
            Err(error) => (Err(ProbeError::new(format!("is not there: {error}"))), Vec::new()),
        };
        let speaks = matches!(part, MachineRole::Node { speaker: Some(_), .. });
        let known = speaks.then(|| self.query_speaker(nth, said.as_ref().ok()));
        let speaker = known.clone().map(|known| known.said.map_err(ProbeError::new));
        (MachineReport { said, speaker, routes, memory: self.memory[nth] }, known)
    }

    /// What a speaker says, or said when there is no news.
    fn query_speaker(&self, nth: usize, said: Option<&DaemonReport>) -> SpeakerAnswer {
        let session = |status: &AgentStatus| {
            let told = status.sessions.iter().find(|told| told.with == PeerRole::Speaker)?;
            Some(told.session.state)
        };
        let node = match said {
            Some(DaemonReport::Node(status)) => session(status),
            _ => None,
        };
        match &self.speakers[nth] {
            Some(known)
                if known.node == node
                    && known.said.is_ok()
                    && !(self.rounds + nth).is_multiple_of(FULL_REFRESH_EVERY) =>
            {
                known.clone()
            }
            _ => SpeakerAnswer {
                said: speaker::query_sessions(self.lab, nth, ichor_system::now().unix()).map_err(Arc::new),
                node,
            },
        }
    }
}

/// Moves this thread into the network of a process.
pub(crate) fn enter_netns(pid: i32) -> io::Result<()> {
    Ok(setns(File::open(format!("/proc/{pid}/ns/net"))?, CloneFlags::CLONE_NEWNET)?)
}

/// What a machine's daemon or agent says, or why it says nothing.
pub(crate) fn query_daemon(lab: &Lab, nth: usize) -> Result<DaemonReport, CollectError> {
    let pid = lab.record.machines[nth];
    match lab.scene().machines[nth].part {
        MachineRole::Router { .. } => query_router(pid).map(DaemonReport::Router),
        MachineRole::Node { .. } => query_agent(pid).map(|status| DaemonReport::Node(Box::new(status))),
        MachineRole::Guest(_) => Ok(guest::check_running(lab, nth).map(|()| DaemonReport::Here)?),
        MachineRole::Outside { .. } => Ok(DaemonReport::Here),
    }
}

/// A socket of a machine, by its path there.
fn connect(pid: i32, path: &str) -> io::Result<UnixStream> {
    let root = Path::new("/proc").join(pid.to_string()).join("root");
    let stream = UnixStream::connect(root.join(path))?;
    let patience = if vm::is_emulated() { EMULATED_ANSWER_TIMEOUT } else { ANSWER_TIMEOUT };
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    Ok(stream)
}

/// What a router's FRR says of its sessions.
fn query_router(pid: i32) -> Result<Vec<Session>, CollectError> {
    let neighbors = vty::query(pid, "bgpd", frr::NEIGHBORS).map_err(CollectError::Bgpd)?;
    // Without BFD there is no such daemon.
    let peers = vty::query(pid, "bfdd", frr::PEERS).ok();
    Ok(frr::sessions(&neighbors, peers.as_deref())?)
}

/// What a node's agent says.
fn query_agent(pid: i32) -> Result<AgentStatus, CollectError> {
    let read = || {
        let mut stream = connect(pid, "run/ichor/status.sock")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        io::Result::Ok(text)
    };
    let text = read().map_err(CollectError::Agent)?;
    match AgentStatus::find(&text) {
        Some(status) => Ok(status?),
        None => Err(CollectError::NoStatus),
    }
}

/// The cables that do not carry, by their ports in the hub.
pub(crate) fn cut_cables(lab: &Lab) -> Vec<CutCable> {
    let hub = lab.record.hub;
    let ports = thread::scope(|threads| {
        let ports = threads.spawn(move || enter_netns(hub).and_then(|()| netlink::ports()));
        ports.join().expect("it does not panic")
    });
    let Ok(ports) = ports else { return Vec::new() };
    CutCable::all(lab.scene(), |cable, end| match ports.get(&switch::port(cable, end)) {
        Some(port) if !port.up => CableState::Down,
        Some(port) if !port.bridged => CableState::Lost,
        _ => CableState::Whole,
    })
}
