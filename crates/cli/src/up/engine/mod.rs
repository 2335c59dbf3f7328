//! The engine of a bring-up: an event loop that decides and starts steps.

mod cluster;
mod node;
mod retries;
mod timeout;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::{
    BootstrapRecord, BringupDecision, BringupRecord, ClusterStep, DesiredState, EtcdPhase, NextStep,
    NodeAddress, NodeProbe, NodeStep, ObservedState, decide,
};
use ipnet::IpNet;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{self, Instant};

use super::endpoint::KubernetesEndpoint;
use super::labels::probe_label;
use super::leases;
use super::machine::{self, ProvidedMachine};
use super::neighbours;
use super::observer::{NodeObserver, NodeTarget};
use super::reporter::Reporter;
use super::state_dir::{ClusterStateDir, StateDirError};
use super::talos_steps::StepError;
use super::watch::{RefreshSignal, watch_node};
use retries::Retries;

/// Interval between polls of machine providers.
const PROVIDER_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Time to collect more events before deciding: a decision covers all nodes.
const BATCH_WINDOW: Duration = Duration::from_millis(2);
/// Interval of timeout checks.
const TICK: Duration = Duration::from_millis(500);

/// Events of a run.
pub(super) enum EngineEvent {
    /// Observation of a node.
    Observed { nth: usize, epoch: u64, at: Option<NodeAddress>, probe: NodeProbe },
    /// State of a node's machine.
    Machine(usize, Result<machine::MachineReport, StepError>),
    /// Result of a node step, with warnings.
    NodeStepDone(usize, NodeStep, Result<Vec<String>, StepError>),
    /// Result of a cluster step, with a message.
    ClusterStepDone(ClusterStep, Result<String, StepError>),
    /// A discovered address of a node's machine.
    AddressFound(usize, NodeAddress),
    /// Message of a running step of a node, or of the cluster.
    Message(Option<usize>, String),
}

/// Inputs of a run.
pub(super) struct EngineInputs {
    pub targets: Vec<Arc<NodeTarget>>,
    pub machines: Vec<Option<ProvidedMachine>>,
    pub endpoint: Option<KubernetesEndpoint>,
    pub kubeconfig: Option<PathBuf>,
    pub neighbours: Vec<IpNet>,
    pub leases: Vec<PathBuf>,
    /// The address of each node for Talos' health check; none if Talos has to discover the nodes.
    pub health_addresses: Option<Vec<Option<IpAddr>>>,
    /// Time limit without progress, for a node or a cluster step.
    pub node_timeout: Duration,
    /// Time limit for the run.
    pub timeout: Duration,
}

/// The state of a run.
pub(super) struct Engine {
    desired: DesiredState,
    observed: ObservedState,
    record: BringupRecord,
    state_dir: ClusterStateDir,
    inputs: EngineInputs,
    reporter: Reporter,
    refresh_signals: Vec<Arc<RefreshSignal>>,
    epochs: Vec<u64>,
    progress: Vec<NodeProgress>,
    retries: Retries,
    events_tx: mpsc::UnboundedSender<EngineEvent>,
    events_rx: mpsc::UnboundedReceiver<EngineEvent>,
}

/// Progress of a node.
#[derive(Default)]
struct NodeProgress {
    next: Option<NextStep<NodeStep>>,
    /// Since when the node has made no progress, unless it waits for others.
    stalled_since: Option<Instant>,
    begun: Option<Instant>,
    took: Option<Duration>,
    retries: Retries,
}

/// Result of a run.
pub(crate) struct BringupOutcome {
    pub decision: BringupDecision,
    pub observed: ObservedState,
    pub took: Vec<Option<Duration>>,
    pub elapsed: Duration,
}

impl Engine {
    pub(super) fn new(
        desired: DesiredState,
        observed: ObservedState,
        (state_dir, record): (ClusterStateDir, BringupRecord),
        inputs: EngineInputs,
        reporter: Reporter,
    ) -> Self {
        let (events_tx, events_rx) = mpsc::unbounded_channel();
        let count = desired.nodes.len();
        Self {
            refresh_signals: (0..count).map(|_| Arc::default()).collect(),
            epochs: vec![0; count],
            progress: (0..count).map(|_| NodeProgress::default()).collect(),
            retries: Retries::default(),
            desired,
            observed,
            record,
            state_dir,
            inputs,
            reporter,
            events_tx,
            events_rx,
        }
    }

    /// Brings up all nodes that can be; `observers` have observed once.
    pub(super) async fn run(mut self, observers: Vec<NodeObserver>) -> Result<BringupOutcome, StateDirError> {
        let count = u32::try_from(observers.len()).unwrap_or(u32::MAX);
        for (nth, observer) in observers.into_iter().enumerate() {
            tokio::spawn(watch_node(
                (nth, count),
                observer,
                Arc::clone(&self.refresh_signals[nth]),
                self.events_tx.clone(),
            ));
        }
        self.poll_providers();
        if !self.inputs.neighbours.is_empty() {
            let (prefixes, targets) = (self.inputs.neighbours.clone(), self.inputs.targets.clone());
            tokio::spawn(neighbours::watch_neighbours(prefixes, targets, self.events_tx.clone()));
        }
        if !self.inputs.leases.is_empty() {
            let (files, targets) = (self.inputs.leases.clone(), self.inputs.targets.clone());
            tokio::spawn(leases::watch_leases(files, targets, self.events_tx.clone()));
        }
        let end = Instant::now() + self.inputs.timeout;
        loop {
            self.record_bootstrap()?;
            let decision = self.decide_and_start()?;
            if decision.is_over() {
                return Ok(self.outcome(decision));
            }
            if Instant::now() >= end {
                self.fail_remaining(&decision, "timed out");
            }
            self.fail_stalled_nodes(&decision);
            if let Ok(Some(event)) = time::timeout(TICK, self.events_rx.recv()).await {
                self.handle_event(event)?;
                time::sleep(BATCH_WINDOW).await;
                while let Ok(event) = self.events_rx.try_recv() {
                    self.handle_event(event)?;
                }
            }
        }
    }

    fn outcome(self, decision: BringupDecision) -> BringupOutcome {
        let took = self.progress.iter().map(|progress| progress.took).collect();
        BringupOutcome { decision, observed: self.observed, took, elapsed: self.reporter.elapsed() }
    }

    /// Handles an event.
    fn handle_event(&mut self, event: EngineEvent) -> Result<(), StateDirError> {
        match event {
            EngineEvent::Observed { nth, epoch, at, probe } if epoch >= self.epochs[nth] => {
                self.record_observation(nth, at, probe);
            }
            EngineEvent::Observed { .. } => {}
            EngineEvent::Machine(nth, Ok(report)) => {
                self.observed.nodes[nth].machine = Some(report.vm);
                for contact in report.addresses {
                    self.add_address(nth, contact);
                }
            }
            EngineEvent::Machine(nth, Err(StepError::Refused(blocker))) => {
                self.observed.nodes[nth].failed = Some(blocker);
            }
            // Polled again soon.
            EngineEvent::Machine(..) => {}
            EngineEvent::AddressFound(nth, contact) => self.add_address(nth, contact),
            EngineEvent::NodeStepDone(nth, step, result) => self.finish_node_step(nth, step, result)?,
            EngineEvent::ClusterStepDone(step, result) => self.finish_cluster_step(step, result)?,
            EngineEvent::Message(nth, text) => {
                let node = nth.map(|nth| self.desired.nodes[nth].name.clone());
                let subject = node.as_deref().unwrap_or("cluster");
                self.reporter.emit(
                    "message",
                    json!({"node": node, "message": text}),
                    Some(format!("{subject}: {text}")),
                );
            }
        }
        Ok(())
    }

    fn record_observation(&mut self, nth: usize, at: Option<NodeAddress>, probe: NodeProbe) {
        let name = &self.desired.nodes[nth].name;
        let observed = &mut self.observed.nodes[nth];
        let applied = self.record.nodes.get(name).and_then(|node| node.applied.as_ref());
        observed.detect_reboot(&probe, applied.and_then(|applied| applied.machine.fingerprint.as_deref()));
        let (word, doing) = probe_label(&probe);
        let before = observed.look.as_ref().map(|probe| probe_label(probe).0);
        if let Some(stalled_since) = &mut self.progress[nth].stalled_since {
            *stalled_since = Instant::now();
        }
        if before != Some(word) || observed.at != at {
            let more = json!({
                "node": name,
                "state": word,
                "address": at.map(|at| at.address),
                "address_stage": at.map(|at| at.stage),
                "activity": doing,
            });
            let location = at.map(|at| format!(" at {at}")).unwrap_or_default();
            // With the live display, only problems get a line.
            let is_problem = matches!(probe, NodeProbe::Foreign(_) | NodeProbe::Unclear(_));
            let is_printed = word != "silent" && (is_problem || !self.reporter.is_live());
            let line = is_printed.then(|| format!("{name}: {word}{location}"));
            self.reporter.emit("node_state", more, line);
        }
        (observed.at, observed.look) = (at, Some(probe));
    }

    fn add_address(&self, nth: usize, contact: NodeAddress) {
        if self.inputs.targets[nth].add_contact(contact) {
            let name = &self.desired.nodes[nth].name;
            let more = json!({"node": name, "address": contact.address, "address_stage": contact.stage, "source": contact.source});
            self.reporter.emit("discovered", more, Some(format!("{name}: found at {contact}")));
            self.refresh_signals[nth].request_refresh();
        }
    }

    /// Records that etcd is bootstrapped, even if another tool did it.
    fn record_bootstrap(&mut self) -> Result<(), StateDirError> {
        if self.record.is_bootstrapped() {
            return Ok(());
        }
        let runs = |nth: &usize| matches!(&self.observed.nodes[*nth].look, Some(NodeProbe::Ours(ours)) if ours.etcd == EtcdPhase::Runs);
        let Some(nth) = self.desired.control_planes().find(runs) else { return Ok(()) };
        let (node, now) = (self.desired.nodes[nth].name.clone(), ichor_system::now());
        self.record.bootstrap.get_or_insert(BootstrapRecord { node, begun: now, done: None }).done =
            Some(now);
        self.state_dir.write(&self.record)
    }

    /// Decides and starts the next steps.
    fn decide_and_start(&mut self) -> Result<BringupDecision, StateDirError> {
        let decision = decide(&self.desired, &self.observed, &self.record);
        self.report_changes(&decision);
        let steps = decision.nodes.iter().enumerate().filter_map(|(nth, next)| match next {
            NextStep::Do(step) => Some((nth, *step)),
            _ => None,
        });
        let steps: Vec<(usize, NodeStep)> = steps.collect();
        let mut is_changed = false;
        for (nth, step) in &steps {
            is_changed |= self.record_intent(*nth, *step);
        }
        let cluster = match &decision.cluster {
            NextStep::Do(step) => Some(*step),
            _ => None,
        };
        if let Some(ClusterStep::Bootstrap(nth)) = cluster {
            let node = self.desired.nodes[nth].name.clone();
            is_changed |= self.record.bootstrap.is_none();
            self.record.bootstrap.get_or_insert(BootstrapRecord {
                node,
                begun: ichor_system::now(),
                done: None,
            });
        }
        // Steps that must not run twice are recorded on disk first.
        if is_changed {
            self.state_dir.write(&self.record)?;
        }
        for (nth, step) in steps {
            self.start_node_step(nth, step);
        }
        if let Some(step) = cluster {
            self.start_cluster_step(step);
        }
        Ok(decision)
    }

    fn report_changes(&mut self, decision: &BringupDecision) {
        let mut done = 0;
        for (nth, next) in decision.nodes.iter().enumerate() {
            let name = self.desired.nodes[nth].name.clone();
            done += usize::from(*next == NextStep::Done);
            let progress = &mut self.progress[nth];
            if progress.next.as_ref() == Some(next) {
                continue;
            }
            progress.next = Some(next.clone());
            match next {
                NextStep::Wait(wait) if wait.on_others => progress.stalled_since = None,
                _ => drop(progress.stalled_since.get_or_insert_with(Instant::now)),
            }
            match next {
                NextStep::Do(_) => {
                    progress.begun.get_or_insert_with(Instant::now);
                }
                NextStep::Wait(wait) => {
                    let doing = (!wait.on_others).then(|| format!("waiting for {}", wait.reason));
                    self.reporter.set_activity(&name, doing.as_deref());
                    self.reporter.emit("waiting", json!({"node": name, "reason": wait.reason}), None);
                }
                NextStep::Done => {
                    progress.took = progress.begun.map(|begun| begun.elapsed());
                    self.reporter.set_activity(&name, None);
                    let more = json!({"node": name, "duration_seconds": progress.took.map(|duration| duration.as_secs_f64())});
                    let line = progress
                        .took
                        .map(|duration| format!("{name}: up after {:.1} s", duration.as_secs_f64()));
                    self.reporter.emit("node_up", more, line);
                }
                NextStep::Refused(blocker) => {
                    self.reporter.set_activity(&name, None);
                    self.reporter.report_refusal(Some(&name), blocker);
                }
            }
        }
        let waits = match &decision.cluster {
            NextStep::Wait(wait) => format!(", waiting for {}", wait.reason),
            _ => String::new(),
        };
        self.reporter.set_summary(format!("{done} of {} nodes are up{waits}", decision.nodes.len()));
    }

    fn poll_providers(&self) {
        for (nth, machine) in self.inputs.machines.iter().enumerate() {
            let Some(machine) = machine.clone() else { continue };
            let events = self.events_tx.clone();
            tokio::spawn(async move {
                while events.send(EngineEvent::Machine(nth, machine.report().await)).is_ok() {
                    time::sleep(PROVIDER_POLL_INTERVAL).await;
                }
            });
        }
    }
}
