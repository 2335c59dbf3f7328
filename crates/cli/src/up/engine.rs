//! The run: what is seen and done is heard, decided upon, and done.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::{
    Applied, Begun, ClusterStep, Contact, Decision, Etcd, Look, Next, NodeStep, Record, Refusal, Seen,
    Wanted, decide,
};
use ichor_core::cluster::section::Role;
use ichor_core::talos::api::cluster::ClusterInfo;
use ipnet::IpNet;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{self, Instant};

use super::act::{self, Ended};
use super::endpoint::{Endpoint, reach};
use super::look::{Eye, Subject};
use super::machine::{self, Machine};
use super::place::{Place, PlaceError};
use super::tell::{State, Teller};
use super::watch::{Bell, watch};
use super::words::{cluster_word, word, words};
use super::{kubeconfig, neighbours};
use crate::sealed;

/// How long to wait before a step is tried again, at first and at most.
const AGAIN: Duration = Duration::from_millis(100);
const LONGEST_AGAIN: Duration = Duration::from_secs(5);
/// How often providers of machines and the neighbour table are asked.
const ASK: Duration = Duration::from_secs(2);
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

/// How often a step was tried that is not done.
#[derive(Clone, Default)]
struct Tries {
    count: u32,
    since: Option<Instant>,
    said: String,
}

impl Tries {
    /// How long to wait before the next.
    fn pause(&self) -> Duration {
        (AGAIN * 2_u32.saturating_pow(self.count.min(10))).min(LONGEST_AGAIN)
    }

    /// One more, and what was said; false where that was said before.
    fn again(&mut self, said: &str) -> bool {
        self.count += 1;
        self.since.get_or_insert_with(Instant::now);
        let new = self.said != said;
        said.clone_into(&mut self.said);
        new
    }
}

/// How a run ended.
pub(super) struct Outcome {
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
        for (nth, eye) in eyes.into_iter().enumerate() {
            tokio::spawn(watch(nth, eye, Arc::clone(&self.bells[nth]), self.tell.clone()));
        }
        self.ask_providers();
        if !self.tools.neighbours.is_empty() {
            let (prefixes, subjects) = (self.tools.neighbours.clone(), self.tools.subjects.clone());
            tokio::spawn(neighbours::search(prefixes, subjects, self.tell.clone()));
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
            Told::Machine(nth, Err(Ended::Refused(refusal))) => self.seen.nodes[nth].failed = Some(refusal),
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
        let same_boot = match (&look, applied) {
            (Look::Maintenance(facts), Some(applied)) => applied.machine.fingerprint == facts.fingerprint,
            _ => false,
        };
        seen.left |= seen.applied > 0 && !same_boot;
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
            let line = (word != "silent").then(|| format!("{name}: {word}{place}"));
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
        let (node, now) = (self.wanted.nodes[nth].name.clone(), sealed::now());
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
        let before = self.record.clone();
        for (nth, step) in &steps {
            self.intend(*nth, *step);
        }
        let cluster = match &decision.cluster {
            Next::Do(step) => Some(*step),
            _ => None,
        };
        if let Some(ClusterStep::Bootstrap(nth)) = cluster {
            let node = self.wanted.nodes[nth].name.clone();
            self.record.bootstrap.get_or_insert(Begun { node, begun: sealed::now(), done: None });
        }
        // What must not be done twice is on the disk before it is done.
        if before != self.record {
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
                    self.teller.doing(&name, (!wait.on_others).then_some(wait.reason.as_str()));
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
                Next::Refused(refusal) => {
                    self.teller.doing(&name, None);
                    self.teller.refused(Some(&name), refusal);
                }
            }
        }
        let waits = match &decision.cluster {
            Next::Wait(wait) => format!(", waiting for {}", wait.reason),
            _ => String::new(),
        };
        self.teller.sum(format!("{done} of {} nodes are up{waits}", decision.nodes.len()));
    }

    /// Writes down what is about to be done.
    fn intend(&mut self, nth: usize, step: NodeStep) {
        let node = &self.wanted.nodes[nth];
        match (step, &self.seen.nodes[nth].look) {
            (NodeStep::Apply, Some(Look::Maintenance(facts))) => {
                let applied =
                    Applied { config: node.config.clone(), machine: facts.clone(), at: sealed::now() };
                self.record.nodes.entry(node.name.clone()).or_default().applied = Some(applied);
            }
            (NodeStep::Attach, _) => self.record.nodes.entry(node.name.clone()).or_default().media = true,
            _ => {}
        }
    }

    fn begin(&mut self, nth: usize, step: NodeStep) {
        let seen = &mut self.seen.nodes[nth];
        seen.busy = true;
        let at = seen.at.filter(|_| matches!(step, NodeStep::Apply | NodeStep::Reconfigure));
        let name = self.wanted.nodes[nth].name.clone();
        if self.progress[nth].tries.count == 0 {
            self.teller.step(Some(&name), word(step), State::Begun, at, "");
        }
        self.teller.doing(&name, Some(word(step)));
        let subject = Arc::clone(&self.tools.subjects[nth]);
        let machine = self.tools.machines[nth].clone();
        let (tell, look) = (self.tell.clone(), seen.look.clone());
        let pause = self.progress[nth].tries.pause();
        tokio::spawn(async move {
            let result = match (step, at, look, machine) {
                (NodeStep::Apply, Some(at), Some(Look::Maintenance(facts)), _) => {
                    act::apply(&subject, at, &facts).await
                }
                (NodeStep::Reconfigure, Some(at), ..) => act::reconfigure(&subject, at).await,
                (step, _, _, Some(machine)) => {
                    let said = tell.clone();
                    machine
                        .act(step, move |text| drop(said.send(Told::Said(Some(nth), text))))
                        .await
                        .map(|()| Vec::new())
                }
                _ => Err(Ended::Later("it is gone".to_owned())),
            };
            if matches!(result, Err(Ended::Later(_) | Ended::Unknown(_))) {
                time::sleep(pause).await;
            }
            let _ = tell.send(Told::Node(nth, step, result));
        });
    }

    fn stepped(
        &mut self,
        nth: usize,
        step: NodeStep,
        result: Result<Vec<String>, Ended>,
    ) -> Result<(), PlaceError> {
        let name = self.wanted.nodes[nth].name.clone();
        let seen = &mut self.seen.nodes[nth];
        seen.busy = false;
        let progress = &mut self.progress[nth];
        let mut new = true;
        let (state, said) = match result {
            Ok(warnings) => {
                (progress.tries, progress.still) = (Tries::default(), Some(Instant::now()));
                match step {
                    NodeStep::Make => seen.machine = seen.machine.map(machine::made),
                    NodeStep::Attach => seen.attached = true,
                    NodeStep::Start => seen.machine = seen.machine.map(machine::started),
                    NodeStep::Apply => (seen.applied, seen.left) = (seen.applied + 1, false),
                    NodeStep::Reconfigure => seen.reconfigured = true,
                    NodeStep::Eject => self.record.nodes.entry(name.clone()).or_default().media = false,
                }
                (State::Done, warnings.join("; "))
            }
            Err(Ended::Later(reason) | Ended::Unknown(reason)) => {
                new = progress.tries.again(&reason);
                (State::Again, reason)
            }
            Err(Ended::Refused(refusal)) => {
                let reason = refusal.reason.clone();
                seen.failed = Some(refusal);
                (State::Failed, reason)
            }
        };
        // What was seen before is old.
        if matches!(step, NodeStep::Apply | NodeStep::Reconfigure) {
            seen.look = None;
            self.epochs[nth] = self.bells[nth].ring();
        }
        if step == NodeStep::Eject && state == State::Done {
            self.place.write(&self.record)?;
        }
        if new {
            self.teller.step(Some(&name), word(step), state, None, &said);
        }
        Ok(())
    }

    fn begin_cluster(&mut self, step: ClusterStep) {
        self.seen.cluster.busy = true;
        let on = |nth: usize| (Arc::clone(&self.tools.subjects[nth]), self.seen.nodes[nth].at);
        let (name, at) = match step {
            ClusterStep::Bootstrap(nth) | ClusterStep::Health(nth) | ClusterStep::Kubeconfig(nth) => {
                (Some(self.wanted.nodes[nth].name.clone()), self.seen.nodes[nth].at)
            }
            ClusterStep::Endpoint => (None, None),
        };
        if self.tries.count == 0 {
            self.teller.step(name.as_deref(), cluster_word(step), State::Begun, at, "");
        }
        let pause = self.tries.pause();
        let tell = self.tell.clone();
        let said = self.tell.clone();
        let say = move |text: String| drop(said.send(Told::Said(None, text)));
        let (patience, info) = (self.tools.node_timeout, self.cluster_info());
        let (endpoint, target) = (self.tools.endpoint.clone(), self.tools.kubeconfig.clone());
        let subject = match step {
            ClusterStep::Bootstrap(nth) | ClusterStep::Health(nth) | ClusterStep::Kubeconfig(nth) => {
                Some(on(nth))
            }
            ClusterStep::Endpoint => None,
        };
        tokio::spawn(async move {
            let result = match (step, subject) {
                (ClusterStep::Endpoint, _) => reach(endpoint, patience, say).await,
                (ClusterStep::Bootstrap(_), Some((subject, Some(at)))) => {
                    let before = act::bootstrap(&subject, at).await;
                    before.map(|before| if before { "it was done before".to_owned() } else { String::new() })
                }
                (ClusterStep::Health(_), Some((subject, Some(at)))) => {
                    act::health(&subject, at, info, patience, say).await.map(|()| String::new())
                }
                (ClusterStep::Kubeconfig(_), Some((subject, Some(at)))) => merge(subject, at, target).await,
                _ => Err(Ended::Later("it is gone".to_owned())),
            };
            if matches!(result, Err(Ended::Later(_) | Ended::Unknown(_))) {
                time::sleep(pause).await;
            }
            let _ = tell.send(Told::Cluster(step, result));
        });
    }

    /// The nodes that are up, by the addresses they have now.
    fn cluster_info(&self) -> ClusterInfo {
        let of = |role: Role| {
            let nodes = self.wanted.nodes.iter().zip(&self.seen.nodes);
            let up =
                nodes.filter(|(node, seen)| node.role == role && matches!(seen.look, Some(Look::Ours(_))));
            up.filter_map(|(_, seen)| Some(seen.at?.address.to_string())).collect()
        };
        ClusterInfo {
            control_plane_nodes: of(Role::Controlplane),
            worker_nodes: of(Role::Worker),
            force_endpoint: String::new(),
        }
    }

    fn cluster_stepped(
        &mut self,
        step: ClusterStep,
        result: Result<String, Ended>,
    ) -> Result<(), PlaceError> {
        let cluster = &mut self.seen.cluster;
        cluster.busy = false;
        let before = self.record.clone();
        let mut new = true;
        let (state, said) = match result {
            Ok(said) => {
                self.tries = Tries::default();
                match step {
                    ClusterStep::Bootstrap(_) => {
                        if let Some(begun) = &mut self.record.bootstrap {
                            begun.done = Some(sealed::now());
                        }
                    }
                    ClusterStep::Endpoint => cluster.endpoint = true,
                    ClusterStep::Health(_) => cluster.healthy = true,
                    ClusterStep::Kubeconfig(_) => cluster.kubeconfig = true,
                }
                (State::Done, said)
            }
            Err(ended) => {
                // It surely was not done: nothing has begun.
                let surely = matches!(ended, Ended::Later(_) | Ended::Refused(_));
                if matches!(step, ClusterStep::Bootstrap(_)) && surely && !self.record.is_bootstrapped() {
                    self.record.bootstrap = None;
                }
                match ended {
                    Ended::Later(reason) | Ended::Unknown(reason) => {
                        new = self.tries.again(&reason);
                        if self.tries.since.is_some_and(|since| since.elapsed() >= self.tools.node_timeout) {
                            let seconds = self.tools.node_timeout.as_secs();
                            let told = format!("{} was tried for {seconds} s: {reason}", cluster_word(step));
                            let remedy = "`ichor verify` looks for the cause; then run `ichor up` again";
                            cluster.failed = Some(Refusal::new(None, told, remedy));
                        }
                        (State::Again, reason)
                    }
                    Ended::Refused(refusal) => {
                        let told = format!("{}: {}", cluster_word(step), refusal.told());
                        cluster.failed = Some(Refusal { at: None, reason: told, remedy: refusal.remedy });
                        (State::Failed, refusal.reason)
                    }
                }
            }
        };
        if before != self.record {
            self.place.write(&self.record)?;
        }
        let node = match step {
            ClusterStep::Bootstrap(nth) | ClusterStep::Health(nth) | ClusterStep::Kubeconfig(nth) => {
                self.epochs[nth] = self.bells[nth].ring();
                Some(self.wanted.nodes[nth].name.as_str())
            }
            ClusterStep::Endpoint => None,
        };
        if new {
            self.teller.step(node, cluster_word(step), state, None, &said);
        }
        Ok(())
    }

    /// Gives nodes up that stand still.
    fn out_of_time(&mut self, decision: &Decision) {
        for (nth, next) in decision.nodes.iter().enumerate() {
            let still =
                self.progress[nth].still.is_some_and(|still| still.elapsed() >= self.tools.node_timeout);
            if next.is_over() || self.seen.nodes[nth].busy || !still {
                continue;
            }
            let waited = match next {
                Next::Wait(wait) => wait.reason.clone(),
                _ => self.progress[nth].tries.said.clone(),
            };
            self.time_is_over(nth, &waited);
        }
    }

    fn time_is_over(&mut self, nth: usize, waited: &str) {
        let contacts = self.tools.subjects[nth].contacts();
        let tried: Vec<_> = contacts.iter().map(ToString::to_string).collect();
        let place = if tried.is_empty() {
            "no address of it is known".to_owned()
        } else {
            format!("tried {}", tried.join(", "))
        };
        let seconds = self.tools.node_timeout.as_secs();
        let reason = format!("waited {seconds} s for {waited}; {place}");
        let remedy = "see its console; what is done is recorded: run `ichor up` again, with `--node-address` if it answers elsewhere";
        let at = self.seen.nodes[nth].at;
        self.seen.nodes[nth].failed = Some(Refusal::new(at, reason, remedy));
    }

    /// Gives everything up that is not over.
    fn give_up(&mut self, decision: &Decision, why: &str) {
        let remedy = "what is done is recorded: run `ichor up` again, with a longer `--timeout` if need be";
        for (nth, next) in decision.nodes.iter().enumerate().filter(|(_, next)| !next.is_over()) {
            let waits = match next {
                Next::Wait(wait) => format!("{why}; it waited for {}", wait.reason),
                _ => why.to_owned(),
            };
            self.seen.nodes[nth].failed = Some(Refusal::new(self.seen.nodes[nth].at, waits, remedy));
        }
        if !decision.cluster.is_over() {
            self.seen.cluster.failed = Some(Refusal::new(None, why, remedy));
        }
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

/// Fetches the kubeconfig, and puts it where it belongs.
async fn merge(subject: Arc<Subject>, at: Contact, target: Option<PathBuf>) -> Result<String, Ended> {
    let Some(target) = target else { return Ok("none is wanted".to_owned()) };
    let text = act::kubeconfig(subject, at).await?;
    let remedy = "mend that file, give another with `--kubeconfig`, or none with `--no-kubeconfig`";
    match kubeconfig::add(&target, &text) {
        Ok(()) => Ok(target.display().to_string()),
        Err(error) => Err(Ended::Refused(Refusal::new(None, format!("{error:#}"), remedy))),
    }
}
