//! Bringing a cluster up: looking at its machines, doing what is decided, and remembering it.
//!
//! [`prepare`] looks and changes nothing, [`Prepared::run`] does the rest. `sources` say where machines are, a [`look::Eye`] sees who
//! answers there, and `watch` keeps looking. The `engine` hears all of it, asks [`ichor_core::bringup::decide`] and has it done: `act` by Talos' API, `machine` by whoever provides machines, `endpoint`
//! and `kubeconfig` for Kubernetes. What must survive it is in its `place`, and `tell` is what others see of it.

mod act;
pub(crate) mod endpoint;
mod engine;
pub(crate) mod kubeconfig;
pub(crate) mod leases;
mod look;
mod machine;
pub(crate) mod neighbours;
pub(crate) mod place;
mod shelf;
mod sources;
mod tell;
mod view;
mod watch;
mod words;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::{Foreseen, NodeSeen, Record, Seen, Wanted, foresee};
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

use self::act::Ended;
use self::endpoint::Endpoint;
use self::engine::{Engine, Tools};
use self::kubeconfig::KubeconfigError;
use self::look::{Eye, Subject};
use self::machine::Machine;
use self::place::{Place, PlaceError};
use self::shelf::Media;
use self::sources::SourceError;

use crate::configuration::{carriers, configurations};
use crate::machines::{Fleet, Folders};
use crate::project::{Project, UnknownNode};
use crate::reach::{self, RuntimeError};
use ichor_client::talos::{Credentials, CredentialsError};

pub(crate) use self::engine::Outcome;
pub(crate) use self::sources::{SourceArgs, prefix};
pub(crate) use self::tell::{State, Teller};

/// How many machines are looked at at once for the first time: those that do not answer keep others waiting.
const LOOKS: usize = 512;

/// How long the first look waits for answers.
const FIRST_LOOK: Duration = Duration::from_secs(15);

/// How long providers that are being asked may take to end it.
const FAREWELL: Duration = Duration::from_secs(5);

/// Why a cluster is not brought up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpError {
    #[error("there are configurations that cannot be made")]
    Unrendered(Vec<Issue>),
    #[error("machines cannot be made or used as the file says")]
    Obstacles(Vec<Issue>),
    #[error("there is no control plane in {}: give a node `role: controlplane`", .0.display())]
    NoControlPlane(PathBuf),
    #[error(transparent)]
    Node(#[from] UnknownNode),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error(transparent)]
    Sources(#[from] SourceError),
    #[error("the certificate of Kubernetes' authority in the bundle")]
    Authority(#[source] rustls::Error),
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("cannot read the neighbour table")]
    Neighbours(#[source] io::Error),
    #[error("cannot hear signals")]
    Signals(#[source] io::Error),
}

/// What is asked for.
pub(crate) struct Order<'o> {
    pub file: &'o Path,
    pub identity: Option<&'o Path>,
    pub only: &'o [String],
    pub sources: &'o SourceArgs,
    pub images: &'o Path,
    pub dry_run: bool,
    pub json: bool,
    pub at_once: usize,
    pub kubeconfig: Target,
    pub node_timeout: Duration,
    pub timeout: Duration,
}

/// Where the kubeconfig goes.
pub(crate) enum Target {
    Usual,
    File(PathBuf),
    None,
}

/// A cluster that was looked at, and everything it takes to bring it up.
pub(crate) struct Prepared {
    pub wanted: Wanted,
    pub seen: Seen,
    pub foreseen: Foreseen,
    record: Record,
    /// The cluster's place, where something is to be done.
    place: Option<Place>,
    eyes: Vec<Eye>,
    tools: Tools,
    runtime: Runtime,
}

/// Looks at a cluster, and finds out everything that can go wrong before something is changed.
pub(crate) fn prepare(
    project: &Project,
    (bundle, admin): (&Bundle, &Pair),
    order: &Order<'_>,
) -> Result<Prepared, UpError> {
    let nodes: Vec<&NodePlan> = project.plan.nodes.iter().collect();
    let configs = configurations(project, &nodes, bundle, order.identity).map_err(UpError::Unrendered)?;
    let machines = machines(project, bundle, order)?;
    let mut wanted = wanted(project, order, &configs)?;
    let credentials = Arc::new(Credentials::new(&bundle.os.crt, admin)?);
    let subjects = subjects(project, order, &mut wanted, &machines, configs, &credentials)?;
    let (endpoint, server) = endpoint(project, bundle, &subjects)?;
    let target = match &order.kubeconfig {
        Target::Usual => Some(kubeconfig::usual()?),
        Target::File(path) => Some(path.clone()),
        Target::None => None,
    };
    let mut seen = Seen::default();
    seen.cluster.kubeconfig = match &target {
        Some(path) => kubeconfig::is_there(path, &server, &bundle.k8s.crt)?,
        None => true,
    };
    let cluster = project.plan.cluster.name.as_str();
    let runtime = reach::runtime()?;
    let held = if order.dry_run { None } else { Some(Place::take(order.file, cluster)?) };
    let eyes = runtime.block_on(async {
        let near = neighbours::sweep(&order.sources.neighbours).await.map_err(UpError::Neighbours)?;
        for subject in &subjects {
            for contact in neighbours::contacts(&near, &subject.identity) {
                subject.found(contact);
            }
        }
        Ok::<_, UpError>(first_look(&subjects, &machines, &mut seen).await)
    })?;
    let (place, record) = match held {
        Some((place, record)) => (Some(place), record),
        None => (None, place::read(order.file, cluster)?),
    };
    let foreseen = foresee(&wanted, &seen, &record);
    let tools = Tools {
        subjects,
        machines,
        endpoint,
        kubeconfig: target,
        neighbours: order.sources.neighbours.clone(),
        leases: order.sources.leases.clone(),
        node_timeout: order.node_timeout,
        timeout: order.timeout,
    };
    Ok(Prepared { wanted, seen, foreseen, record, place, eyes, tools, runtime })
}

impl Prepared {
    /// Brings it up, unless that was prepared as a dry run; nothing when it was stopped before the end.
    pub(crate) fn run(self, teller: Teller) -> Result<Option<Outcome>, UpError> {
        let Some(place) = self.place else { return Ok(None) };
        let engine = Engine::new(self.wanted, self.seen, (place, self.record), self.tools, teller);
        let outcome = self.runtime.block_on(async {
            tokio::select! {
                outcome = engine.run(self.eyes) => outcome.map(Some).map_err(UpError::from),
                stopped = stopped() => stopped.map(|()| None).map_err(UpError::Signals),
            }
        })?;
        // Whoever still waits for a machine need not. A provider that is being asked may end that: controllers have few sessions, and
        // one that nobody closes is kept for half an hour.
        self.runtime.shutdown_timeout(FAREWELL);
        Ok(outcome)
    }
}

fn wanted(project: &Project, order: &Order<'_>, configs: &[String]) -> Result<Wanted, UpError> {
    let plan = &project.plan;
    let sums: Vec<String> = configs.iter().map(|config| sha256(config.as_bytes())).collect();
    let Some(mut wanted) = Wanted::of(plan, &sums, order.at_once) else {
        return Err(UpError::NoControlPlane(order.file.to_owned()));
    };
    for name in order.only {
        project.node(name)?;
    }
    for node in &mut wanted.nodes {
        node.chosen = order.only.is_empty() || order.only.contains(&node.name);
    }
    Ok(wanted)
}

/// The machines that somebody provides.
fn machines(project: &Project, bundle: &Bundle, order: &Order<'_>) -> Result<Vec<Option<Machine>>, UpError> {
    let plan = &project.plan;
    let chosen =
        |node: &&NodePlan| order.only.is_empty() || order.only.iter().any(|only| only == node.name.as_str());
    let provided = Fleet::of(project.name(), plan).and_then(|fleet| {
        let names: Vec<&str> = plan.nodes.iter().filter(chosen).map(|node| node.name.as_str()).collect();
        let obstacles = fleet.check(&names);
        if obstacles.is_empty() { Ok(fleet) } else { Err(obstacles) }
    });
    let fleet = provided.map_err(UpError::Obstacles)?;
    let provided: Vec<&NodePlan> =
        plan.nodes.iter().filter(|node| fleet.provider(node.name.as_str()).is_some()).collect();
    let built = carriers(project, &provided, bundle, order.identity).map_err(UpError::Unrendered)?;
    let others =
        Folders { build: PathBuf::new(), images: order.images.to_owned(), file: project.name().to_owned() };
    let media = Arc::new(Media { built, others });
    let machine = |node: &NodePlan| {
        let provider = Arc::clone(fleet.provider(node.name.as_str())?);
        Some(Machine { node: node.name.to_string(), provider, media: Arc::clone(&media) })
    };
    Ok(plan.nodes.iter().map(machine).collect())
}

fn subjects(
    project: &Project,
    order: &Order<'_>,
    wanted: &mut Wanted,
    machines: &[Option<Machine>],
    configs: Vec<String>,
    credentials: &Arc<Credentials>,
) -> Result<Vec<Arc<Subject>>, UpError> {
    let plan = &project.plan;
    let known = order.sources.known(plan)?;
    let mut subjects = Vec::new();
    for (nth, (mut known, config)) in known.into_iter().zip(configs).enumerate() {
        let node = &plan.nodes[nth];
        // Whoever makes machines gives each a UUID of its own.
        if machines[nth].as_ref().is_some_and(|machine| machine.provider.powers().makes) {
            known.identity.uuid = Some(guest_uuid(plan.cluster.name.as_str(), node.name.as_str()));
        }
        wanted.nodes[nth].identity = known.identity.clone();
        subjects.push(Arc::new(Subject::new(
            node.name.as_str(),
            known.identity,
            node.role == Role::Controlplane,
            node.talos.value.clone(),
            config,
            Arc::clone(credentials),
            known.contacts,
        )));
    }
    Ok(subjects)
}

fn guest_uuid(cluster: &str, node: &str) -> String {
    ichor_core::render::hypervisor::uuid::Uuid::of(cluster, node).to_string()
}

/// Where the Kubernetes API answers, as far as that is known, and what a kubeconfig says of it.
fn endpoint(
    project: &Project,
    bundle: &Bundle,
    subjects: &[Arc<Subject>],
) -> Result<(Option<Endpoint>, String), UpError> {
    let server = subjects.first().and_then(|subject| server(&subject.config)).unwrap_or_default();
    let made = Endpoint::planned(&project.plan, &bundle.k8s.crt);
    Ok((made.map_err(UpError::Authority)?, server))
}

/// The endpoint that a configuration names.
fn server(config: &str) -> Option<String> {
    let documents = document::read(config).ok()?;
    let machine = documents.iter().find(|one| document::is_machine_config(one))?;
    machine.pointer("/cluster/controlPlane/endpoint")?.as_str().map(str::to_owned)
}

/// Looks at every node once.
async fn first_look(subjects: &[Arc<Subject>], machines: &[Option<Machine>], seen: &mut Seen) -> Vec<Eye> {
    let room = Arc::new(Semaphore::new(LOOKS));
    let mut looks = JoinSet::new();
    for (nth, (subject, machine)) in subjects.iter().zip(machines).enumerate() {
        let (mut eye, machine, room) = (Eye::new(Arc::clone(subject)), machine.clone(), Arc::clone(&room));
        looks.spawn(async move {
            let _permit = room.acquire().await;
            let machine = match machine {
                Some(machine) => Some(machine.look().await),
                None => None,
            };
            if let Some(Ok(told)) = &machine {
                for contact in &told.addresses {
                    eye.subject.found(*contact);
                }
            }
            let (at, look) = eye.look(FIRST_LOOK).await;
            (nth, eye, machine, at, look)
        });
    }
    let mut all: HashMap<usize, (Eye, NodeSeen)> = HashMap::new();
    while let Some(Ok((nth, eye, machine, at, look))) = looks.join_next().await {
        let mut node = NodeSeen { at, look: Some(look), ..NodeSeen::default() };
        match machine {
            Some(Ok(told)) => node.machine = Some(told.seen),
            Some(Err(Ended::Refused(blocker))) => node.failed = Some(blocker),
            _ => {}
        }
        all.insert(nth, (eye, node));
    }
    let mut eyes = Vec::new();
    for (nth, subject) in subjects.iter().enumerate() {
        let unseen = || (Eye::new(Arc::clone(subject)), NodeSeen::default());
        let (eye, node) = all.remove(&nth).unwrap_or_else(unseen);
        eyes.push(eye);
        seen.nodes.push(node);
    }
    eyes
}

/// Waits until somebody wants it to stop.
async fn stopped() -> io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
