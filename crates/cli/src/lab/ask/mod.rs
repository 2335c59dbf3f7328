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

use ichor_bgp::agent::session::State;
use ichor_bgp::agent::status::{StatusError, With};
use ichor_bgp::agent::{Session, Status, frr};
use ichor_core::lab::View;
use ichor_core::lab::scene::Part;
use ichor_core::lab::view::{Carrier, Cut, Heard, Said};
use ichor_core::probe::ProbeError;
use nix::sched::{CloneFlags, setns};

use super::guest::HaltedError;
use super::{Lab, guest, hub, vm};

/// How long a daemon may take to answer; where all is emulated, so that one that only is slow is not taken for one that is not there.
const PATIENCE: Duration = Duration::from_secs(3);
const EMULATED_PATIENCE: Duration = Duration::from_secs(30);
/// How many machines are asked at once.
const AT_ONCE: usize = 8;
/// At one look of so many, a speaker is asked without a reason, and memory is counted.
const SELDOM: usize = 10;

/// Why a machine does not say how it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    #[error("bgpd does not answer: {0}")]
    Bgpd(io::Error),
    #[error(transparent)]
    Sessions(#[from] frr::Strange),
    #[error("the agent does not answer: {0}")]
    Agent(io::Error),
    #[error(transparent)]
    Status(#[from] StatusError),
    #[error("the agent does not say how it is")]
    NoStatus,
    #[error(transparent)]
    Halted(#[from] HaltedError),
    #[error("gobgp: {0}")]
    Gobgp(io::Error),
    #[error("the speaker does not answer: {0}")]
    Speaker(String),
    #[error(transparent)]
    SpeakerSessions(#[from] ichor_core::lab::view::speaker::Strange),
}

/// Whoever looks at a lab, again and again.
pub(crate) struct Ear<'l> {
    lab: &'l Lab,
    looks: usize,
    memory: Vec<u64>,
    speakers: Vec<Option<Known>>,
}

/// What a speaker last said, and what the node said of their session then.
#[derive(Clone)]
struct Known {
    said: Result<Vec<Session>, Arc<AskError>>,
    node: Option<State>,
}

impl<'l> Ear<'l> {
    /// Somebody who has not looked yet.
    pub(crate) fn new(lab: &'l Lab) -> Self {
        let machines = lab.scene().machines.len();
        Self { lab, looks: 0, memory: vec![0; machines], speakers: vec![None; machines] }
    }

    /// Looks at everything.
    pub(crate) fn look(&mut self) -> View {
        if self.looks.is_multiple_of(SELDOM) {
            self.memory = memory::of(&self.lab.record.machines);
        }
        let heard = self.hear();
        self.looks += 1;
        let scene = self.lab.scene();
        View::of(self.lab.place.name(), scene, &heard, cuts(self.lab), ichor_system::now())
    }

    /// Asks every machine, some at once.
    fn hear(&mut self) -> Vec<Heard> {
        let machines = self.lab.scene().machines.len();
        let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(machines)));
        let this = &*self;
        thread::scope(|threads| {
            for _ in 0..AT_ONCE.min(machines) {
                threads.spawn(|| {
                    while let Some(nth) =
                        Some(next.fetch_add(1, Ordering::Relaxed)).filter(|nth| *nth < machines)
                    {
                        let answer = this.machine(nth);
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
    fn machine(&self, nth: usize) -> (Heard, Option<Known>) {
        let pid = self.lab.record.machines[nth];
        let part = &self.lab.scene().machines[nth].part;
        let said = said(self.lab, nth).map_err(ProbeError::new);
        if matches!(part, Part::Guest(_)) {
            return (Heard { said, speaker: None, routes: Vec::new(), memory: self.memory[nth] }, None);
        }
        let routes = enter(pid).and_then(|()| netlink::routes());
        let (said, routes) = match routes {
            Ok(routes) => (said, routes),
            // Without its network there is no machine.
            Err(error) => (Err(ProbeError::new(format!("is not there: {error}"))), Vec::new()),
        };
        let speaks = matches!(part, Part::Node { speaker: Some(_), .. });
        let known = speaks.then(|| self.speaker(nth, said.as_ref().ok()));
        let speaker = known.clone().map(|known| known.said.map_err(ProbeError::new));
        (Heard { said, speaker, routes, memory: self.memory[nth] }, known)
    }

    /// What a speaker says, or said when there is no news.
    fn speaker(&self, nth: usize, said: Option<&Said>) -> Known {
        let session = |status: &Status| {
            let told = status.sessions.iter().find(|told| told.with == With::Speaker)?;
            Some(told.session.state)
        };
        let node = match said {
            Some(Said::Node(status)) => session(status),
            _ => None,
        };
        match &self.speakers[nth] {
            Some(known)
                if known.node == node && known.said.is_ok() && !(self.looks + nth).is_multiple_of(SELDOM) =>
            {
                known.clone()
            }
            _ => Known {
                said: speaker::ask(self.lab, nth, ichor_system::now().unix()).map_err(Arc::new),
                node,
            },
        }
    }
}

/// Moves this thread into the network of a process.
pub(crate) fn enter(pid: i32) -> io::Result<()> {
    Ok(setns(File::open(format!("/proc/{pid}/ns/net"))?, CloneFlags::CLONE_NEWNET)?)
}

/// What a machine's daemon or agent says, or why it says nothing.
pub(crate) fn said(lab: &Lab, nth: usize) -> Result<Said, AskError> {
    let pid = lab.record.machines[nth];
    match lab.scene().machines[nth].part {
        Part::Router { .. } => router(pid).map(Said::Router),
        Part::Node { .. } => node(pid).map(|status| Said::Node(Box::new(status))),
        Part::Guest(_) => Ok(guest::runs(lab, nth).map(|()| Said::Here)?),
        Part::Outside { .. } => Ok(Said::Here),
    }
}

/// A socket of a machine, by its path there.
fn connect(pid: i32, path: &str) -> io::Result<UnixStream> {
    let root = Path::new("/proc").join(pid.to_string()).join("root");
    let stream = UnixStream::connect(root.join(path))?;
    let patience = if vm::is_emulated() { EMULATED_PATIENCE } else { PATIENCE };
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    Ok(stream)
}

/// What a router's FRR says of its sessions.
fn router(pid: i32) -> Result<Vec<Session>, AskError> {
    let neighbors = vty::ask(pid, "bgpd", frr::NEIGHBORS).map_err(AskError::Bgpd)?;
    // Without BFD there is no such daemon.
    let peers = vty::ask(pid, "bfdd", frr::PEERS).ok();
    Ok(frr::sessions(&neighbors, peers.as_deref())?)
}

/// What a node's agent says.
fn node(pid: i32) -> Result<Status, AskError> {
    let read = || {
        let mut stream = connect(pid, "run/ichor/status.sock")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        io::Result::Ok(text)
    };
    let text = read().map_err(AskError::Agent)?;
    match Status::find(&text) {
        Some(status) => Ok(status?),
        None => Err(AskError::NoStatus),
    }
}

/// The cables that do not carry, by their ports in the hub.
pub(crate) fn cuts(lab: &Lab) -> Vec<Cut> {
    let hub = lab.record.hub;
    let ports = thread::scope(|threads| {
        let ports = threads.spawn(move || enter(hub).and_then(|()| netlink::ports()));
        ports.join().expect("it does not panic")
    });
    let Ok(ports) = ports else { return Vec::new() };
    Cut::all(lab.scene(), |cable, end| match ports.get(&hub::port(cable, end)) {
        Some(port) if !port.up => Carrier::Down,
        Some(port) if !port.bridged => Carrier::Lost,
        _ => Carrier::Whole,
    })
}
