//! Bringing a cluster up: looking at its machines, doing what is decided, and remembering it.
//!
//! `sources` say where machines are, a [`look::Eye`] sees who answers there, and `watch` keeps looking. The `engine` hears all of
//! it, asks [`ichor_core::bringup::decide`] and has it done: `act` by Talos' API, `machine` by whoever provides machines, `endpoint`
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
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use ichor_core::bringup::{Foreseen, Next, NodeSeen, Seen, Wanted, foresee};
use ichor_core::cluster::section::Role;
use ichor_core::plan::NodePlan;
use ichor_talos::document;
use ichor_talos::secrets::{Bundle, Pair};
use ichor_values::Issue;
use ichor_values::digest::sha256;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::act::Ended;
use self::endpoint::Endpoint;
use self::engine::{Engine, Outcome, Tools};
use self::look::{Eye, Subject};
use self::machine::Machine;
use self::place::Place;
use self::shelf::Media;

use crate::configuration::{carriers, configurations};
use crate::machines::{Fleet, Folders};
use crate::project::Project;
use crate::report::{self, IssueKeys};
use crate::{reach, style, table};
use ichor_client::talos::Credentials;

pub(crate) use self::sources::{SourceArgs, prefix};
pub(crate) use self::tell::{State, Teller};

/// How many machines are looked at at once for the first time: those that do not answer keep others waiting.
const LOOKS: usize = 512;

/// How long the first look waits for answers.
const FIRST_LOOK: Duration = Duration::from_secs(15);

/// How long providers that are being asked may take to end it.
const FAREWELL: Duration = Duration::from_secs(5);

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

/// Brings a cluster up, or says what that would take.
pub(crate) fn bring_up(
    project: &Project,
    (bundle, admin): (&Bundle, &Pair),
    order: &Order<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let nodes: Vec<&NodePlan> = project.plan.nodes.iter().collect();
    let configs = match configurations(project, &nodes, bundle, order.identity)? {
        Ok(configs) => configs,
        Err(errors) => return unrendered(&errors, order, start, out),
    };
    let machines = match machines(project, bundle, order, start, out)? {
        Ok(machines) => machines,
        Err(code) => return Ok(code),
    };
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
        let near =
            neighbours::sweep(&order.sources.neighbours).await.context("cannot read the neighbour table")?;
        for subject in &subjects {
            for contact in neighbours::contacts(&near, &subject.identity) {
                subject.found(contact);
            }
        }
        anyhow::Ok(first_look(&subjects, &machines, &mut seen).await)
    })?;
    let record = match &held {
        Some((_, record)) => record.clone(),
        None => place::read(order.file, cluster)?,
    };
    let teller = Teller::new(order.json);
    let foreseen = foresee(&wanted, &seen, &record);
    tell_plan(&teller, &wanted, &seen, &foreseen, order, out)?;
    let Some((place, record)) = held else {
        return Ok(ExitCode::from(u8::from(!foreseen.is_empty())));
    };
    if let Some(note) = project.cilium().keep()? {
        style::say(&note);
    }
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
    let engine = Engine::new(wanted.clone(), seen, (place, record), tools, teller);
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = engine.run(eyes) => outcome.map(Some).map_err(anyhow::Error::from),
            stopped = stopped() => stopped.map(|()| None).context("cannot hear signals"),
        }
    })?;
    // Whoever still waits for a machine need not. A provider that is being asked may end that: controllers have few sessions, and
    // one that nobody closes is kept for half an hour.
    runtime.shutdown_timeout(FAREWELL);
    let Some(outcome) = outcome else { return Ok(stop(order, start)) };
    end(&wanted, &outcome, foreseen.is_empty(), order, out)
}

fn wanted(project: &Project, order: &Order<'_>, configs: &[String]) -> anyhow::Result<Wanted> {
    let plan = &project.plan;
    let sums: Vec<String> = configs.iter().map(|config| sha256(config.as_bytes())).collect();
    let Some(mut wanted) = Wanted::of(plan, &sums, order.at_once) else {
        bail!("there is no control plane in {}: give a node `role: controlplane`", order.file.display());
    };
    for name in order.only {
        if plan.node(name).is_none() {
            bail!("there is no node `{name}`; `ichor show nodes` lists them");
        }
    }
    for node in &mut wanted.nodes {
        node.chosen = order.only.is_empty() || order.only.contains(&node.name);
    }
    Ok(wanted)
}

/// The machines that somebody provides; or why they cannot be had, which was told.
fn machines(
    project: &Project,
    bundle: &Bundle,
    order: &Order<'_>,
    start: Instant,
    out: &mut dyn Write,
) -> anyhow::Result<Result<Vec<Option<Machine>>, ExitCode>> {
    let plan = &project.plan;
    let chosen =
        |node: &&NodePlan| order.only.is_empty() || order.only.iter().any(|only| only == node.name.as_str());
    let provided = Fleet::of(project.name(), plan).and_then(|fleet| {
        let names: Vec<&str> = plan.nodes.iter().filter(chosen).map(|node| node.name.as_str()).collect();
        let obstacles = fleet.check(&names);
        if obstacles.is_empty() { Ok(fleet) } else { Err(obstacles) }
    });
    let fleet = match provided {
        Ok(fleet) => fleet,
        Err(obstacles) => {
            return obstructed(project, &obstacles, order, start, out).map(Err);
        }
    };
    let provided: Vec<&NodePlan> =
        plan.nodes.iter().filter(|node| fleet.provider(node.name.as_str()).is_some()).collect();
    let built = match carriers(project, &provided, bundle, order.identity)? {
        Ok(built) => built,
        Err(errors) => return unrendered(&errors, order, start, out).map(Err),
    };
    let others =
        Folders { build: PathBuf::new(), images: order.images.to_owned(), file: project.name().to_owned() };
    let media = Arc::new(Media { built, others });
    let machine = |node: &NodePlan| {
        let provider = Arc::clone(fleet.provider(node.name.as_str())?);
        Some(Machine { node: node.name.to_string(), provider, media: Arc::clone(&media) })
    };
    Ok(Ok(plan.nodes.iter().map(machine).collect()))
}

/// Says what is in the way of machines, and that nothing was done.
fn obstructed(
    project: &Project,
    obstacles: &[Issue],
    order: &Order<'_>,
    start: Instant,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let words = "nothing was done: machines cannot be made or used as the file says";
    if order.json {
        let refused = obstacles.iter().map(|obstacle| match project.plan.node(&obstacle.subject) {
            Some(_) => report::issue_json(obstacle, IssueKeys::OF_NODE),
            None => json!({"reason": obstacle.headline(), "remedy": obstacle.help}),
        });
        nothing_done(refused.collect(), words, start);
    } else {
        for obstacle in obstacles {
            writeln!(out, "{}", report::line(obstacle))?;
        }
        style::say(words);
    }
    Ok(ExitCode::FAILURE)
}

/// Says which configurations cannot be made, and that nothing was done.
fn unrendered(
    errors: &[Issue],
    order: &Order<'_>,
    start: Instant,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let words = "nothing was done: there are configurations that cannot be made";
    if order.json {
        let refused = errors.iter().map(|issue| {
            json!({"reason": issue.to_string(), "remedy": "mend it in the cluster file; `ichor build` says the same"})
        });
        nothing_done(refused.collect(), words, start);
    } else {
        report::unrendered(out, errors)?;
        style::say(words);
    }
    Ok(ExitCode::FAILURE)
}

/// Tells by events what was refused before anything was done.
fn nothing_done(refused: Vec<Value>, words: &str, start: Instant) {
    let (teller, count) = (Teller::json_since(start), refused.len());
    for event in refused {
        teller.event("refused", event, None);
    }
    teller.event("end", json!({"up": false, "refused": count, "reason": words}), None);
}

fn subjects(
    project: &Project,
    order: &Order<'_>,
    wanted: &mut Wanted,
    machines: &[Option<Machine>],
    configs: Vec<String>,
    credentials: &Arc<Credentials>,
) -> anyhow::Result<Vec<Arc<Subject>>> {
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
) -> anyhow::Result<(Option<Endpoint>, String)> {
    let server = subjects.first().and_then(|subject| server(&subject.config)).unwrap_or_default();
    let made = Endpoint::planned(&project.plan, &bundle.k8s.crt);
    Ok((made.context("the certificate of Kubernetes' authority in the bundle")?, server))
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

/// Says what will be done.
fn tell_plan(
    teller: &Teller,
    wanted: &Wanted,
    seen: &Seen,
    foreseen: &Foreseen,
    order: &Order<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let nodes = || wanted.nodes.iter().zip(&seen.nodes).zip(&foreseen.nodes);
    if order.json {
        let nodes: Vec<Value> = nodes()
            .map(|((node, seen), steps)| {
                let refused = steps.as_ref().err();
                json!({
                    "name": node.name,
                    "address": seen.at.map(|at| at.address),
                    "stage": seen.at.map(|at| at.stage),
                    "steps": steps.as_ref().ok(),
                    "refused": refused.map(|blocker| blocker.issue.message.as_str()),
                    "remedy": refused.map(|blocker| blocker.remedy()),
                })
            })
            .collect();
        teller.event("plan", json!({"nodes": nodes, "cluster": foreseen.cluster}), None);
        return Ok(());
    }
    let mut rows = Vec::new();
    for ((node, seen), steps) in nodes() {
        let at = seen.at.map(|at| at.to_string()).unwrap_or_default();
        match steps {
            Ok(steps) if steps.is_empty() => {}
            Ok(steps) => rows.push(vec![node.name.clone(), at, steps.join("\n")]),
            Err(blocker) => {
                rows.push(vec![
                    node.name.clone(),
                    at,
                    format!("refused: {}\nhint: {}", blocker.issue.message, blocker.remedy()),
                ]);
            }
        }
    }
    rows.extend(foreseen.cluster.iter().map(|step| vec!["cluster".to_owned(), String::new(), step.clone()]));
    if rows.is_empty() {
        style::say("nothing is to be done: every node runs what the file says");
    } else {
        table::print(out, &["node", "at", "to do"], &rows)?;
        out.flush()?;
    }
    Ok(())
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

/// Says that it was stopped, and how to go on.
fn stop(order: &Order<'_>, start: Instant) -> ExitCode {
    let words = "stopped before the end: what was done is recorded, run `ichor up` again and it goes on";
    if order.json {
        Teller::json_since(start).event("end", json!({"up": false, "reason": words}), None);
    } else {
        style::say(words);
    }
    ExitCode::FAILURE
}

/// Says how it ended.
fn end(
    wanted: &Wanted,
    outcome: &Outcome,
    nothing: bool,
    order: &Order<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let refused = outcome.decision.nodes.iter().filter(|next| matches!(next, Next::Refused(_))).count();
    let cluster = match &outcome.decision.cluster {
        Next::Refused(blocker) => Some(blocker),
        _ => None,
    };
    let up = refused == 0 && cluster.is_none();
    if order.json {
        let end = json!({"time": ichor_client::now(), "event": "end", "up": up, "refused": refused, "elapsed": outcome.elapsed.as_secs_f64(),
            "reason": cluster.map(|blocker| blocker.issue.headline())});
        writeln!(out, "{end}")?;
        return Ok(ExitCode::from(u8::from(!up)));
    }
    let mut rows = Vec::new();
    for (nth, node) in wanted.nodes.iter().enumerate().filter(|(_, node)| node.chosen) {
        let at = outcome.seen.nodes[nth].at.map(|at| at.to_string()).unwrap_or_default();
        let state = match &outcome.decision.nodes[nth] {
            Next::Refused(blocker) => blocker.issue.message.clone(),
            _ => "up".to_owned(),
        };
        let took = outcome.took[nth].map(|took| format!("{:.1} s", took.as_secs_f64())).unwrap_or_default();
        rows.push(vec![node.name.clone(), at, state, took]);
    }
    table::print(out, &["node", "at", "state", "took"], &rows)?;
    let seconds = outcome.elapsed.as_secs_f64();
    match cluster {
        Some(blocker) => {
            style::say(&format!(
                "{}error:{:#} {}\n  hint: {}",
                style::ERROR,
                style::ERROR,
                blocker.issue.headline(),
                blocker.remedy()
            ));
        }
        None if refused > 0 => style::say(&format!("{refused} nodes are not up")),
        None if nothing => style::say("nothing was to be done: the cluster is up and healthy"),
        None => style::say(&format!("the cluster is up and healthy after {seconds:.1} s")),
    }
    Ok(ExitCode::from(u8::from(!up)))
}
