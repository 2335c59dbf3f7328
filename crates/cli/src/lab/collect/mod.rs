//! Collects the status of a lab's machines in parallel: daemons and agents through their sockets, the kernel through
//! netlink.
//!
//! Only gobgp is started as a program, and only if its state may have changed. `core` interprets the results.

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
use ichor_core::lab::status::{CableState, CutCable, DaemonReport, MachineReport};
use ichor_core::lab::topology::MachineRole;
use ichor_core::probe::ProbeError;
use nix::sched::{CloneFlags, setns};

use super::guest::GuestStateError;
use super::{Lab, guest, switch, vm};

/// Time limit for an answer of a daemon; longer with emulation, so that a slow daemon does not count as down.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
const EMULATED_ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of machines queried in parallel.
const THREADS: usize = 8;
/// Every n-th collection also queries unchanged speakers and counts memory.
const FULL_REFRESH_EVERY: usize = 10;

/// Errors of querying a machine.
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
    #[error("the agent returned no status")]
    NoStatus,
    #[error(transparent)]
    Halted(#[from] GuestStateError),
    #[error("gobgp: {0}")]
    Gobgp(io::Error),
    #[error("the speaker does not answer: {0}")]
    Speaker(String),
    #[error(transparent)]
    SpeakerSessions(#[from] ichor_core::lab::status::speaker::SpeakerReplyError),
}

/// Collects the status of a lab repeatedly.
pub(crate) struct Collector<'l> {
    lab: &'l Lab,
    rounds: usize,
    memory: Vec<u64>,
    speakers: Vec<Option<SpeakerAnswer>>,
}

/// The last answer of a speaker, and the node's view of their session at that time.
#[derive(Clone)]
struct SpeakerAnswer {
    answer: Result<Vec<Session>, Arc<CollectError>>,
    node_state: Option<SessionState>,
}

impl<'l> Collector<'l> {
    /// Creates a collector without earlier answers.
    pub(crate) fn new(lab: &'l Lab) -> Self {
        let machines = lab.topology().machines.len();
        Self { lab, rounds: 0, memory: vec![0; machines], speakers: vec![None; machines] }
    }

    /// Collects the status of the lab.
    pub(crate) fn collect(&mut self) -> LabStatus {
        if self.rounds.is_multiple_of(FULL_REFRESH_EVERY) {
            self.memory = memory::private_bytes(&self.lab.record.machine_pids);
        }
        let reports = self.query_machines();
        self.rounds += 1;
        let topology = self.lab.topology();
        LabStatus::new(self.lab.dir.name(), topology, &reports, cut_cables(self.lab), ichor_system::now())
    }

    /// Queries all machines, several in parallel.
    fn query_machines(&mut self) -> Vec<MachineReport> {
        let machines = self.lab.topology().machines.len();
        let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(machines)));
        let this = &*self;
        thread::scope(|threads| {
            for _ in 0..THREADS.min(machines) {
                threads.spawn(|| {
                    while let Some(nth) =
                        Some(next.fetch_add(1, Ordering::Relaxed)).filter(|nth| *nth < machines)
                    {
                        let answer = this.query_machine(nth);
                        answers.lock().expect("no thread panics while holding it").push((nth, answer));
                    }
                });
            }
        });
        let mut answers = answers.into_inner().expect("no thread panics while holding it");
        answers.sort_by_key(|(nth, _)| *nth);
        let mut reports = Vec::with_capacity(machines);
        for (nth, (answer, speaker)) in answers {
            self.speakers[nth] = speaker;
            reports.push(answer);
        }
        reports
    }

    /// Queries one machine. The thread stays in the machine's network namespace.
    fn query_machine(&self, nth: usize) -> (MachineReport, Option<SpeakerAnswer>) {
        let pid = self.lab.record.machine_pids[nth];
        let part = &self.lab.topology().machines[nth].part;
        let report = query_daemon(self.lab, nth).map_err(ProbeError::new);
        if matches!(part, MachineRole::Guest(_)) {
            return (
                MachineReport { daemon: report, speaker: None, routes: Vec::new(), memory: self.memory[nth] },
                None,
            );
        }
        let routes = enter_netns(pid).and_then(|()| netlink::routes());
        let (report, routes) = match routes {
            Ok(routes) => (report, routes),
            // Without its namespace the machine does not run.
            Err(error) => (Err(ProbeError::new(format!("not running: {error}"))), Vec::new()),
        };
        let speaks = matches!(part, MachineRole::Node { speaker: Some(_), .. });
        let answer = speaks.then(|| self.query_speaker(nth, report.as_ref().ok()));
        let speaker = answer.clone().map(|answer| answer.answer.map_err(ProbeError::new));
        (MachineReport { daemon: report, speaker, routes, memory: self.memory[nth] }, answer)
    }

    /// Queries a speaker, or returns its last answer if nothing changed.
    fn query_speaker(&self, nth: usize, report: Option<&DaemonReport>) -> SpeakerAnswer {
        let session = |status: &AgentStatus| {
            let speaker = status.sessions.iter().find(|session| session.with == PeerRole::Speaker)?;
            Some(speaker.session.state)
        };
        let node_state = match report {
            Some(DaemonReport::Node(status)) => session(status),
            _ => None,
        };
        match &self.speakers[nth] {
            Some(answer)
                if answer.node_state == node_state
                    && answer.answer.is_ok()
                    && !(self.rounds + nth).is_multiple_of(FULL_REFRESH_EVERY) =>
            {
                answer.clone()
            }
            _ => SpeakerAnswer {
                answer: speaker::query_sessions(self.lab, nth, ichor_system::now().unix()).map_err(Arc::new),
                node_state,
            },
        }
    }
}

/// Moves this thread into the network namespace of a process.
pub(crate) fn enter_netns(pid: i32) -> io::Result<()> {
    Ok(setns(File::open(format!("/proc/{pid}/ns/net"))?, CloneFlags::CLONE_NEWNET)?)
}

/// Queries the daemon or agent of a machine.
pub(crate) fn query_daemon(lab: &Lab, nth: usize) -> Result<DaemonReport, CollectError> {
    let pid = lab.record.machine_pids[nth];
    match lab.topology().machines[nth].part {
        MachineRole::Router { .. } => query_router(pid).map(DaemonReport::Router),
        MachineRole::Node { .. } => query_agent(pid).map(|status| DaemonReport::Node(Box::new(status))),
        MachineRole::Guest(_) => Ok(guest::check_running(lab, nth).map(|()| DaemonReport::Opaque)?),
        MachineRole::Outside { .. } => Ok(DaemonReport::Opaque),
    }
}

/// Connects to a socket of a machine by its path there.
fn connect(pid: i32, path: &str) -> io::Result<UnixStream> {
    let root = Path::new("/proc").join(pid.to_string()).join("root");
    let stream = UnixStream::connect(root.join(path))?;
    let timeout = if vm::is_emulated() { EMULATED_ANSWER_TIMEOUT } else { ANSWER_TIMEOUT };
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    Ok(stream)
}

/// Queries the sessions of a router's FRR.
fn query_router(pid: i32) -> Result<Vec<Session>, CollectError> {
    let neighbors = vty::query(pid, "bgpd", frr::NEIGHBORS).map_err(CollectError::Bgpd)?;
    // bfdd runs only if BFD is configured.
    let peers = vty::query(pid, "bfdd", frr::PEERS).ok();
    Ok(frr::sessions(&neighbors, peers.as_deref())?)
}

/// Queries the status of a node's agent.
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

/// The cables that are cut, according to their switch ports.
pub(crate) fn cut_cables(lab: &Lab) -> Vec<CutCable> {
    let switch_pid = lab.record.switch_pid;
    let ports = thread::scope(|threads| {
        let ports = threads.spawn(move || enter_netns(switch_pid).and_then(|()| netlink::ports()));
        ports.join().expect("the thread does not panic")
    });
    let Ok(ports) = ports else { return Vec::new() };
    CutCable::find_all(lab.topology(), |cable, end| match ports.get(&switch::port(cable, end)) {
        Some(port) if !port.up => CableState::Down,
        Some(port) if !port.bridged => CableState::Lost,
        _ => CableState::Whole,
    })
}
