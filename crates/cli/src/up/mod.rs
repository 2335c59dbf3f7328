//! Cluster bring-up: observe machines, run the decided steps, record what was done.
//!
//! [`prepare`] only observes; [`PreparedBringup::run`] makes the changes. `sources` finds addresses of machines, an
//! [`observer::NodeObserver`] probes them, and `watch` repeats that. The `engine` receives all events, calls
//! [`ichor_core::bringup::decide`] and starts the steps: `talos_steps` through the Talos API, `machine` at the provider, `endpoint`
//! and `kubeconfig` for Kubernetes. `state_dir` persists the record, and `reporter` prints progress.

mod display;
pub(crate) mod endpoint;
mod engine;
pub(crate) mod kubeconfig;
mod labels;
pub(crate) mod leases;
mod machine;
mod media;
pub(crate) mod neighbours;
mod observer;
mod reporter;
mod sources;
pub(crate) mod state_dir;
mod talos_steps;
mod watch;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::{
    BringupPreview, BringupRecord, DesiredState, ObservedNode, ObservedState, health_check_addresses, preview,
};
use ichor_core::cluster::section::Role;
use ichor_core::plan::NodePlan;
use ichor_talos::digest::sha256;
use ichor_talos::document;
use ichor_talos::secrets::{Bundle, Pair};
use ichor_values::Issue;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::endpoint::KubernetesEndpoint;
use self::engine::{Engine, EngineInputs};
use self::kubeconfig::KubeconfigError;
use self::machine::ProvidedMachine;
use self::media::RunMedia;
use self::observer::{NodeObserver, NodeTarget};
use self::sources::SourceError;
use self::state_dir::{ClusterStateDir, StateDirError};
use self::talos_steps::StepError;

use crate::configuration::{boot_media, configurations};
use crate::connect::{self, RuntimeError};
use crate::machines::{Fleet, MediaFolders};
use crate::project::{Project, UnknownNode};
use ichor_client::talos::{Credentials, CredentialsError};

pub(crate) use self::engine::BringupOutcome;
pub(crate) use self::reporter::{Reporter, StepState};
pub(crate) use self::sources::{SourceArgs, prefix};

/// Concurrent first observations: silent machines delay others.
const MAX_CONCURRENT: usize = 512;

/// Time limit for the first observation.
const FIRST_OBSERVATION_TIMEOUT: Duration = Duration::from_secs(15);

/// Time limit for provider calls in progress at the end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Errors of a bring-up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpError {
    #[error("cannot render the machine configurations")]
    Unrendered(Vec<Issue>),
    #[error("preflight checks of machines failed")]
    Obstacles(Vec<Issue>),
    #[error("{} has no control plane node; set `role: controlplane` on one", .0.display())]
    NoControlPlane(PathBuf),
    #[error(transparent)]
    Node(#[from] UnknownNode),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error(transparent)]
    Sources(#[from] SourceError),
    #[error("cannot use the Kubernetes CA certificate in the secrets bundle")]
    Authority(#[source] rustls::Error),
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Place(#[from] StateDirError),
    #[error("cannot read the neighbour table")]
    Neighbours(#[source] io::Error),
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
}

/// Options of `ichor up`.
pub(crate) struct UpOptions<'o> {
    pub file: &'o Path,
    pub identity: Option<&'o Path>,
    pub only: &'o [String],
    pub sources: &'o SourceArgs,
    pub images: &'o Path,
    pub dry_run: bool,
    pub json: bool,
    pub at_once: usize,
    pub kubeconfig: KubeconfigTarget,
    pub node_timeout: Duration,
    pub timeout: Duration,
}

/// Destination of the kubeconfig.
pub(crate) enum KubeconfigTarget {
    Usual,
    File(PathBuf),
    None,
}

/// An observed cluster with everything needed to bring it up.
pub(crate) struct PreparedBringup {
    pub wanted: DesiredState,
    pub seen: ObservedState,
    pub foreseen: BringupPreview,
    record: BringupRecord,
    /// Locked state directory; none for a dry run.
    place: Option<ClusterStateDir>,
    observers: Vec<NodeObserver>,
    inputs: EngineInputs,
    runtime: Runtime,
}

/// Observes a cluster and runs all preflight checks before anything is changed.
pub(crate) fn prepare(
    project: &Project,
    (bundle, admin): (&Bundle, &Pair),
    options: &UpOptions<'_>,
) -> Result<PreparedBringup, UpError> {
    let nodes: Vec<&NodePlan> = project.plan.nodes.iter().collect();
    let configs = configurations(project, &nodes, bundle, options.identity).map_err(UpError::Unrendered)?;
    let machines = provided_machines(project, bundle, options)?;
    let mut wanted = desired_state(project, options, &configs)?;
    let credentials = Arc::new(Credentials::new(&bundle.os.crt, admin)?);
    let targets = node_targets(project, options, &mut wanted, &machines, configs, &credentials)?;
    let (endpoint, server) = kubernetes_endpoint(project, bundle, &targets)?;
    let kubeconfig_path = match &options.kubeconfig {
        KubeconfigTarget::Usual => Some(kubeconfig::default_path()?),
        KubeconfigTarget::File(path) => Some(path.clone()),
        KubeconfigTarget::None => None,
    };
    let mut seen = ObservedState::default();
    seen.cluster.kubeconfig = match &kubeconfig_path {
        Some(path) => kubeconfig::has_context(path, &server, &bundle.k8s.crt)?,
        None => true,
    };
    let cluster = project.plan.cluster.name.as_str();
    let runtime = connect::runtime()?;
    let held = if options.dry_run { None } else { Some(ClusterStateDir::lock(options.file, cluster)?) };
    let observers = runtime.block_on(async {
        let near = neighbours::sweep(&options.sources.neighbours).await.map_err(UpError::Neighbours)?;
        for target in &targets {
            for contact in neighbours::contacts(&near, &target.identity) {
                target.add_contact(contact);
            }
        }
        Ok::<_, UpError>(observe_all_once(&targets, &machines, &mut seen).await)
    })?;
    let (place, record) = match held {
        Some((place, record)) => (Some(place), record),
        None => (None, state_dir::read_record(options.file, cluster)?),
    };
    let foreseen = preview(&wanted, &seen, &record);
    let inputs = EngineInputs {
        targets,
        machines,
        endpoint,
        kubeconfig: kubeconfig_path,
        neighbours: options.sources.neighbours.clone(),
        leases: options.sources.leases.clone(),
        health_addresses: health_check_addresses(&project.plan),
        node_timeout: options.node_timeout,
        timeout: options.timeout,
    };
    Ok(PreparedBringup { wanted, seen, foreseen, record, place, observers, inputs, runtime })
}

impl PreparedBringup {
    /// Brings the cluster up; none for a dry run and after a signal.
    pub(crate) fn run(self, reporter: Reporter) -> Result<Option<BringupOutcome>, UpError> {
        let Some(place) = self.place else { return Ok(None) };
        let engine = Engine::new(self.wanted, self.seen, (place, self.record), self.inputs, reporter);
        let outcome = self.runtime.block_on(async {
            tokio::select! {
                outcome = engine.run(self.observers) => outcome.map(Some).map_err(UpError::from),
                stopped = wait_for_signal() => stopped.map(|()| None).map_err(UpError::Signals),
            }
        })?;
        // Observers may be aborted. Provider calls get time to finish: BMCs allow few sessions, and
        // a session that is not closed stays open for half an hour.
        self.runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        Ok(outcome)
    }
}

fn desired_state(
    project: &Project,
    options: &UpOptions<'_>,
    configs: &[String],
) -> Result<DesiredState, UpError> {
    let plan = &project.plan;
    let sums: Vec<String> = configs.iter().map(|config| sha256(config.as_bytes())).collect();
    let Some(mut wanted) = DesiredState::from_plan(plan, &sums, options.at_once) else {
        return Err(UpError::NoControlPlane(options.file.to_owned()));
    };
    for name in options.only {
        project.node(name)?;
    }
    for node in &mut wanted.nodes {
        node.chosen = options.only.is_empty() || options.only.contains(&node.name);
    }
    Ok(wanted)
}

/// Machines with a provider, in the order of the plan.
fn provided_machines(
    project: &Project,
    bundle: &Bundle,
    options: &UpOptions<'_>,
) -> Result<Vec<Option<ProvidedMachine>>, UpError> {
    let plan = &project.plan;
    let chosen = |node: &&NodePlan| {
        options.only.is_empty() || options.only.iter().any(|only| only == node.name.as_str())
    };
    let provided = Fleet::from_plan(project.name(), plan).and_then(|fleet| {
        let names: Vec<&str> = plan.nodes.iter().filter(chosen).map(|node| node.name.as_str()).collect();
        let obstacles = fleet.check(&names);
        if obstacles.is_empty() { Ok(fleet) } else { Err(obstacles) }
    });
    let fleet = provided.map_err(UpError::Obstacles)?;
    let provided: Vec<&NodePlan> =
        plan.nodes.iter().filter(|node| fleet.provider(node.name.as_str()).is_some()).collect();
    let built = boot_media(project, &provided, bundle, options.identity).map_err(UpError::Unrendered)?;
    let others = MediaFolders {
        build: PathBuf::new(),
        images: options.images.to_owned(),
        file: project.name().to_owned(),
    };
    let media = Arc::new(RunMedia { built, others });
    let machine = |node: &NodePlan| {
        let provider = Arc::clone(fleet.provider(node.name.as_str())?);
        Some(ProvidedMachine { node: node.name.to_string(), provider, media: Arc::clone(&media) })
    };
    Ok(plan.nodes.iter().map(machine).collect())
}

fn node_targets(
    project: &Project,
    options: &UpOptions<'_>,
    wanted: &mut DesiredState,
    machines: &[Option<ProvidedMachine>],
    configs: Vec<String>,
    credentials: &Arc<Credentials>,
) -> Result<Vec<Arc<NodeTarget>>, UpError> {
    let plan = &project.plan;
    let known = options.sources.known(plan)?;
    let mut targets = Vec::new();
    for (nth, (mut known, config)) in known.into_iter().zip(configs).enumerate() {
        let node = &plan.nodes[nth];
        // Providers that create VMs set the UUID of each.
        if machines[nth].as_ref().is_some_and(|machine| machine.provider.capabilities().creates_vms) {
            known.identity.uuid = Some(vm_uuid(plan.cluster.name.as_str(), node.name.as_str()));
        }
        wanted.nodes[nth].identity = known.identity.clone();
        targets.push(Arc::new(NodeTarget::new(
            node.name.as_str(),
            known.identity,
            node.role == Role::Controlplane,
            node.talos.value.clone(),
            config,
            Arc::clone(credentials),
            known.contacts,
        )));
    }
    Ok(targets)
}

fn vm_uuid(cluster: &str, node: &str) -> String {
    ichor_core::render::hypervisor::uuid::VmUuid::new(cluster, node).to_string()
}

/// The planned Kubernetes endpoint, if known, and the server URL of a kubeconfig.
fn kubernetes_endpoint(
    project: &Project,
    bundle: &Bundle,
    targets: &[Arc<NodeTarget>],
) -> Result<(Option<KubernetesEndpoint>, String), UpError> {
    let server = targets.first().and_then(|target| configured_endpoint(&target.config)).unwrap_or_default();
    let made = KubernetesEndpoint::planned(&project.plan, &bundle.k8s.crt);
    Ok((made.map_err(UpError::Authority)?, server))
}

/// Endpoint in a machine configuration.
fn configured_endpoint(config: &str) -> Option<String> {
    let documents = document::read(config).ok()?;
    let machine = documents.iter().find(|one| document::is_machine_config(one))?;
    machine.pointer("/cluster/controlPlane/endpoint")?.as_str().map(str::to_owned)
}

/// Observes every node once.
async fn observe_all_once(
    targets: &[Arc<NodeTarget>],
    machines: &[Option<ProvidedMachine>],
    seen: &mut ObservedState,
) -> Vec<NodeObserver> {
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT));
    let mut observations = JoinSet::new();
    for (nth, (target, machine)) in targets.iter().zip(machines).enumerate() {
        let (mut observer, machine, permits) =
            (NodeObserver::new(Arc::clone(target)), machine.clone(), Arc::clone(&permits));
        observations.spawn(async move {
            let _permit = permits.acquire().await;
            let machine = match machine {
                Some(machine) => Some(machine.report().await),
                None => None,
            };
            if let Some(Ok(report)) = &machine {
                for contact in &report.addresses {
                    observer.target.add_contact(*contact);
                }
            }
            let (at, probe) = observer.observe(FIRST_OBSERVATION_TIMEOUT).await;
            (nth, observer, machine, at, probe)
        });
    }
    let mut all: HashMap<usize, (NodeObserver, ObservedNode)> = HashMap::new();
    while let Some(Ok((nth, observer, machine, at, probe))) = observations.join_next().await {
        let mut node = ObservedNode { at, look: Some(probe), ..ObservedNode::default() };
        match machine {
            Some(Ok(report)) => node.machine = Some(report.vm),
            Some(Err(StepError::Refused(blocker))) => node.failed = Some(blocker),
            _ => {}
        }
        all.insert(nth, (observer, node));
    }
    let mut observers = Vec::new();
    for (nth, target) in targets.iter().enumerate() {
        let unseen = || (NodeObserver::new(Arc::clone(target)), ObservedNode::default());
        let (observer, node) = all.remove(&nth).unwrap_or_else(unseen);
        observers.push(observer);
        seen.nodes.push(node);
    }
    observers
}

/// Waits for SIGINT or SIGTERM.
async fn wait_for_signal() -> io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
