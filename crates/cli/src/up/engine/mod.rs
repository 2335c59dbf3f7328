//! The run: what is seen and done is heard, decided upon, and done.

mod cluster;
mod limit;
mod node;
mod tries;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::{
    Begun, ClusterStep, Contact, Decision, Etcd, Look, Next, NodeStep, Record, Seen, Wanted, decide,
};
use ipnet::IpNet;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{self, Instant};

use super::act::Ended;
use super::endpoint::Endpoint;
use super::leases;
use super::look::{Eye, Subject};
use super::machine::{self, Machine};
use super::neighbours;
use super::place::{Place, PlaceError};
use super::tell::Teller;
use super::watch::{Bell, watch};
use super::words::words;
use tries::Tries;

/// How often providers of machines and the neighbour table are asked.
const ASK: Duration = Duration::from_secs(2);
/// How long others may take to be heard together with whoever was heard: deciding is about all nodes.
const BREATH: Duration = Duration::from_millis(2);
/// How often the time is looked at.
const TICK: Duration = Duration::from_millis(500);

/// What is heard.
pub(super) enum Told {
    /// What answers at a node's addresses.
    Looked { nth: usize, epoch: u64, at: Option<Contact>, look: Look },
    /// What there is of a node's machine.
    Machine(usize, Result<machine::Told, Ended>),
    /// How a step of a node ended, and what was said of it.
    Node(usize, NodeStep, Result<Vec<String>, Ended>),
    /// How a step of the cluster ended, and what was said of it.
    Cluster(ClusterStep, Result<String, Ended>),
    /// Where a node's machine may be.
    Found(usize, Contact),
    /// What a step that goes on says.
    Said(Option<usize>, String),
}

/// What a run has at hand.
pub(super) struct Tools {
    pub subjects: Vec<Arc<Subject>>,
    pub machines: Vec<Option<Machine>>,
    pub endpoint: Option<Endpoint>,
    pub kubeconfig: Option<PathBuf>,
    pub neighbours: Vec<IpNet>,
    pub leases: Vec<PathBuf>,
    /// How long a node, or a step of the cluster, may stand still.
    pub node_timeout: Duration,
    /// How long all of it may take.
    pub timeout: Duration,
}

/// A run.
pub(super) struct Engine {
    wanted: Wanted,
    seen: Seen,
    record: Record,
    place: Place,
    tools: Tools,
    teller: Teller,
    bells: Vec<Arc<Bell>>,
    epochs: Vec<u64>,
    progress: Vec<Progress>,
    tries: Tries,
    tell: mpsc::UnboundedSender<Told>,
    hear: mpsc::UnboundedReceiver<Told>,
}

/// How far a node is.
#[derive(Default)]
struct Progress {
    next: Option<Next<NodeStep>>,
    /// Since when it stands still, by its own doing.
    still: Option<Instant>,
    begun: Option<Instant>,
    took: Option<Duration>,
    tries: Tries,
}

/// How a run ended.
pub(crate) struct Outcome {
    pub decision: Decision,
    pub seen: Seen,
    pub took: Vec<Option<Duration>>,
    pub elapsed: Duration,
}

impl Engine {
    pub(super) fn new(
        wanted: Wanted,
        seen: Seen,
        (place, record): (Place, Record),
        tools: Tools,
        teller: Teller,
    ) -> Self {
        let (tell, hear) = mpsc::unbounded_channel();
        let count = wanted.nodes.len();
        Self {
            bells: (0..count).map(|_| Arc::default()).collect(),
            epochs: vec![0; count],
            progress: (0..count).map(|_| Progress::default()).collect(),
            tries: Tries::default(),
            wanted,
            seen,
            record,
            place,
            tools,
            teller,
            tell,
            hear,
        }
    }

    /// Brings everything up that can be; `eyes` have looked once.
    pub(super) async fn run(mut self, eyes: Vec<Eye>) -> Result<Outcome, PlaceError> {
        let count = u32::try_from(eyes.len()).unwrap_or(u32::MAX);
        for (nth, eye) in eyes.into_iter().enumerate() {
            tokio::spawn(watch((nth, count), eye, Arc::clone(&self.bells[nth]), self.tell.clone()));
        }
        self.ask_providers();
        if !self.tools.neighbours.is_empty() {
            let (prefixes, subjects) = (self.tools.neighbours.clone(), self.tools.subjects.clone());
            tokio::spawn(neighbours::search(prefixes, subjects, self.tell.clone()));
        }
        if !self.tools.leases.is_empty() {
            let (files, subjects) = (self.tools.leases.clone(), self.tools.subjects.clone());
            tokio::spawn(leases::search(files, subjects, self.tell.clone()));
        }
        let end = Instant::now() + self.tools.timeout;
        loop {
            self.remember_etcd()?;
            let decision = self.proceed()?;
            if decision.is_over() {
                return Ok(self.outcome(decision));
            }
            if Instant::now() >= end {
                self.give_up(&decision, "the time for all of it is over");
            }
            self.out_of_time(&decision);
            if let Ok(Some(told)) = time::timeout(TICK, self.hear.recv()).await {
                self.take(told)?;
                time::sleep(BREATH).await;
                while let Ok(told) = self.hear.try_recv() {
                    self.take(told)?;
                }
            }
        }
    }

    fn outcome(self, decision: Decision) -> Outcome {
        let took = self.progress.iter().map(|progress| progress.took).collect();
        Outcome { decision, seen: self.seen, took, elapsed: self.teller.elapsed() }
    }

    /// Hears.
    fn take(&mut self, told: Told) -> Result<(), PlaceError> {
        match told {
            Told::Looked { nth, epoch, at, look } if epoch >= self.epochs[nth] => self.looked(nth, at, look),
            Told::Looked { .. } => {}
            Told::Machine(nth, Ok(told)) => {
                self.seen.nodes[nth].machine = Some(told.seen);
                for contact in told.addresses {
                    self.found(nth, contact);
                }
            }
            Told::Machine(nth, Err(Ended::Refused(blocker))) => self.seen.nodes[nth].failed = Some(blocker),
            // Asked again soon.
            Told::Machine(..) => {}
            Told::Found(nth, contact) => self.found(nth, contact),
            Told::Node(nth, step, result) => self.stepped(nth, step, result)?,
            Told::Cluster(step, result) => self.cluster_stepped(step, result)?,
            Told::Said(nth, text) => {
                let node = nth.map(|nth| self.wanted.nodes[nth].name.clone());
                let who = node.as_deref().unwrap_or("cluster");
                self.teller.event(
                    "message",
                    json!({"node": node, "said": text}),
                    Some(format!("{who}: {text}")),
                );
            }
        }
        Ok(())
    }

    fn looked(&mut self, nth: usize, at: Option<Contact>, look: Look) {
        let name = &self.wanted.nodes[nth].name;
        let seen = &mut self.seen.nodes[nth];
        let applied = self.record.nodes.get(name).and_then(|node| node.applied.as_ref());
        seen.came_back(&look, applied.and_then(|applied| applied.machine.fingerprint.as_deref()));
        let (word, doing) = words(&look);
        let before = seen.look.as_ref().map(|look| words(look).0);
        if let Some(still) = &mut self.progress[nth].still {
            *still = Instant::now();
        }
        if before != Some(word) || seen.at != at {
            let more = json!({
                "node": name,
                "state": word,
                "address": at.map(|at| at.address),
                "stage": at.map(|at| at.stage),
                "doing": doing,
            });
            let place = at.map(|at| format!(" at {at}")).unwrap_or_default();
            // Where rows show what nodes do, only what is wrong is worth a line.
            let wrong = matches!(look, Look::Foreign(_) | Look::Unclear(_));
            let told = word != "silent" && (wrong || !self.teller.is_live());
            let line = told.then(|| format!("{name}: {word}{place}"));
            self.teller.event("look", more, line);
        }
        (seen.at, seen.look) = (at, Some(look));
    }

    fn found(&self, nth: usize, contact: Contact) {
        if self.tools.subjects[nth].found(contact) {
            let name = &self.wanted.nodes[nth].name;
            let more = json!({"node": name, "address": contact.address, "stage": contact.stage, "source": contact.source});
            self.teller.event("found", more, Some(format!("{name}: found at {contact}")));
            self.bells[nth].ring();
        }
    }

    /// What is seen to be bootstrapped is remembered, whoever did it.
    fn remember_etcd(&mut self) -> Result<(), PlaceError> {
        if self.record.is_bootstrapped() {
            return Ok(());
        }
        let runs = |nth: &usize| matches!(&self.seen.nodes[*nth].look, Some(Look::Ours(ours)) if ours.etcd == Etcd::Runs);
        let Some(nth) = self.wanted.control_planes().find(runs) else { return Ok(()) };
        let (node, now) = (self.wanted.nodes[nth].name.clone(), ichor_system::now());
        self.record.bootstrap.get_or_insert(Begun { node, begun: now, done: None }).done = Some(now);
        self.place.write(&self.record)
    }

    /// Decides, and begins what is decided.
    fn proceed(&mut self) -> Result<Decision, PlaceError> {
        let decision = decide(&self.wanted, &self.seen, &self.record);
        self.tell_changes(&decision);
        let steps = decision.nodes.iter().enumerate().filter_map(|(nth, next)| match next {
            Next::Do(step) => Some((nth, *step)),
            _ => None,
        });
        let steps: Vec<(usize, NodeStep)> = steps.collect();
        let mut news = false;
        for (nth, step) in &steps {
            news |= self.intend(*nth, *step);
        }
        let cluster = match &decision.cluster {
            Next::Do(step) => Some(*step),
            _ => None,
        };
        if let Some(ClusterStep::Bootstrap(nth)) = cluster {
            let node = self.wanted.nodes[nth].name.clone();
            news |= self.record.bootstrap.is_none();
            self.record.bootstrap.get_or_insert(Begun { node, begun: ichor_system::now(), done: None });
        }
        // What must not be done twice is on the disk before it is done.
        if news {
            self.place.write(&self.record)?;
        }
        for (nth, step) in steps {
            self.begin(nth, step);
        }
        if let Some(step) = cluster {
            self.begin_cluster(step);
        }
        Ok(decision)
    }

    fn tell_changes(&mut self, decision: &Decision) {
        let mut done = 0;
        for (nth, next) in decision.nodes.iter().enumerate() {
            let name = self.wanted.nodes[nth].name.clone();
            done += usize::from(*next == Next::Done);
            let progress = &mut self.progress[nth];
            if progress.next.as_ref() == Some(next) {
                continue;
            }
            progress.next = Some(next.clone());
            match next {
                Next::Wait(wait) if wait.on_others => progress.still = None,
                _ => drop(progress.still.get_or_insert_with(Instant::now)),
            }
            match next {
                Next::Do(_) => {
                    progress.begun.get_or_insert_with(Instant::now);
                }
                Next::Wait(wait) => {
                    let doing = (!wait.on_others).then(|| format!("waits for {}", wait.reason));
                    self.teller.doing(&name, doing.as_deref());
                    self.teller.event("wait", json!({"node": name, "for": wait.reason}), None);
                }
                Next::Done => {
                    progress.took = progress.begun.map(|begun| begun.elapsed());
                    self.teller.doing(&name, None);
                    let more = json!({"node": name, "took": progress.took.map(|took| took.as_secs_f64())});
                    let line =
                        progress.took.map(|took| format!("{name}: up after {:.1} s", took.as_secs_f64()));
                    self.teller.event("up", more, line);
                }
                Next::Refused(blocker) => {
                    self.teller.doing(&name, None);
                    self.teller.refused(Some(&name), blocker);
                }
            }
        }
        let waits = match &decision.cluster {
            Next::Wait(wait) => format!(", waiting for {}", wait.reason),
            _ => String::new(),
        };
        self.teller.sum(format!("{done} of {} nodes are up{waits}", decision.nodes.len()));
    }

    fn ask_providers(&self) {
        for (nth, machine) in self.tools.machines.iter().enumerate() {
            let Some(machine) = machine.clone() else { continue };
            let tell = self.tell.clone();
            tokio::spawn(async move {
                while tell.send(Told::Machine(nth, machine.look().await)).is_ok() {
                    time::sleep(ASK).await;
                }
            });
        }
    }
}
