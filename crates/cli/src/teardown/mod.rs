//! The end of a cluster: its machines, its record and the way to it are taken away; its secrets stay.
//!
//! Everything is tried, and what could not be done is told in the end: run again, it goes on with what is left.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use futures_util::future::join_all;
use ichor_core::cluster::section::Role;
use ichor_core::plan::NodePlan;
use ichor_core::render::hypervisor::medium::Source;
use ichor_core::reset::Wipe;
use ichor_core::table;
use ichor_core::talos::secrets::Pem;
use ichor_core::teardown::{Fate, Machine, ends};

use crate::consent::consents;
use crate::crew::{Answers, Crew};
use crate::machines::{Fleet, State};
use crate::project::Project;
use crate::reach::{self, Way};
use crate::reset::{How, forget};
use crate::style;
use crate::up::kubeconfig;
use crate::up::place::{Place, folder};
use crate::vault;

/// What is ordered.
pub(crate) struct Order<'o> {
    pub file: &'o Path,
    pub way: &'o Way,
    /// Reset machines that nobody made.
    pub reset: bool,
    pub dry_run: bool,
    pub yes: bool,
    /// How long a machine may take to be reset.
    pub timeout: Duration,
    /// The kubeconfig to take the cluster out of.
    pub kubeconfig: Option<PathBuf>,
}

/// What there is of a cluster besides machines.
struct Traces {
    /// The record of `ichor up`.
    record: Option<PathBuf>,
    /// The kubeconfig that leads to it, and the authority by which that is known.
    kubeconfig: Option<(PathBuf, Pem)>,
}

/// Takes a cluster down, or says what that would destroy.
pub(crate) fn down(project: &Project, order: &Order<'_>, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let fleet = match Fleet::of(project.name(), &project.cluster, &project.plan) {
        Ok(fleet) => fleet,
        Err(obstacles) => {
            bail!("{}", obstacles.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        }
    };
    let nodes: Vec<&NodePlan> = project.plan.nodes.iter().collect();
    let all: Vec<Machine> = nodes.iter().map(|node| look(&fleet, node.name.as_str())).collect();
    let is_control_plane = |(node, _): &(&&NodePlan, &Machine)| node.role == Role::Controlplane;
    let control_planes = nodes.iter().zip(&all).filter(is_control_plane).map(|(_, machine)| machine);
    let traces = if ends(control_planes, order.reset) {
        traces(project, order)
    } else {
        // Whoever is left still needs them.
        Traces { record: None, kubeconfig: None }
    };
    tell(&nodes, &all, &traces, order, out)?;
    let secrets = vault::place::bundle_of(project);
    style::say(&format!("the secrets in {} are kept", secrets.display()));
    let idle = all.iter().all(|machine| machine.fate(order.reset) == Fate::Left);
    if idle && traces.record.is_none() && traces.kubeconfig.is_none() {
        style::say("nothing is to be done");
        return Ok(ExitCode::SUCCESS);
    }
    if order.dry_run {
        return Ok(ExitCode::FAILURE);
    }
    let cluster = project.plan.cluster.name.as_str();
    if !consents(
        &format!("All of this is gone for good, with everything on it: cluster {cluster}."),
        cluster,
        order.yes,
    )? {
        style::say("nothing was done");
        return Ok(ExitCode::FAILURE);
    }
    let remains = take_down(project, &fleet, &nodes, &all, &traces, order, out)?;
    for left in &remains {
        style::say(&format!("{}left:{:#} {left}", style::ERROR, style::ERROR));
    }
    if remains.is_empty() {
        style::say(&format!("{cluster} is down; the secrets are in {}", secrets.display()));
        return Ok(ExitCode::SUCCESS);
    }
    style::say("run the same again when that is set right: it goes on with what is left");
    Ok(ExitCode::FAILURE)
}

/// What a provider says of a node's machine.
fn look(fleet: &Fleet, node: &str) -> Machine {
    let Some(provider) = fleet.provider(node) else { return Machine::Unprovided };
    let place = provider.place();
    if !provider.powers().makes {
        return Machine::Real(place);
    }
    match provider.state(node) {
        Ok(State::Absent) => Machine::Absent(place),
        Ok(State::Foreign(which)) => Machine::Foreign(place, which),
        Ok(state) => {
            let made =
                provider.media(node).into_iter().filter(|medium| matches!(medium.source, Source::Built(_)));
            Machine::Made { place, on: state == State::On, media: made.map(|medium| medium.name).collect() }
        }
        Err(error) => Machine::Unknown(place, format!("{:#}", anyhow::Error::from(error))),
    }
}

fn traces(project: &Project, order: &Order<'_>) -> Traces {
    let record = folder(order.file, project.plan.cluster.name.as_str());
    let secrets = vault::place::bundle_of(project);
    let mut kubeconfig = None;
    if let Some(path) = order.kubeconfig.as_ref().filter(|_| secrets.exists()) {
        let found = vault::place::open(&secrets, order.way.identity.as_deref())
            .and_then(|(bundle, _)| Ok(kubeconfig::has(path, &bundle.k8s.crt)?.then_some(bundle.k8s.crt)));
        match found {
            Ok(authority) => kubeconfig = authority.map(|authority| (path.clone(), authority)),
            Err(error) => style::say(&format!("{} is left as it is: {error:#}", path.display())),
        }
    }
    Traces { record: record.exists().then_some(record), kubeconfig }
}

/// Names everything that will be destroyed.
fn tell(
    nodes: &[&NodePlan],
    all: &[Machine],
    traces: &Traces,
    order: &Order<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = nodes
        .iter()
        .zip(all)
        .map(|(node, machine)| vec![node.name.to_string(), machine.told(order.reset)])
        .collect();
    writeln!(out, "{}", table::text(&["NODE", "ITS MACHINE IS"], &rows))?;
    if let Some(record) = &traces.record {
        writeln!(out, "{} is removed: what `ichor up` remembers", record.display())?;
    }
    if let Some((path, _)) = &traces.kubeconfig {
        writeln!(out, "the cluster is taken out of {}", path.display())?;
    }
    Ok(())
}

/// Does all of it; what could not be done.
fn take_down(
    project: &Project,
    fleet: &Fleet,
    nodes: &[&NodePlan],
    all: &[Machine],
    traces: &Traces,
    order: &Order<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<Vec<String>> {
    // While somebody brings the cluster up it cannot be taken down.
    let place = match &traces.record {
        Some(_) => Some(Place::take(order.file, project.plan.cluster.name.as_str())?.0),
        None => None,
    };
    let mut remains = Vec::new();
    let doomed = |fate: Fate| {
        let each = nodes.iter().zip(all).filter(move |(_, machine)| machine.fate(order.reset) == fate);
        each.map(|(node, _)| *node).collect::<Vec<_>>()
    };
    let resets = doomed(Fate::Reset);
    if !resets.is_empty() {
        let (crew, _) = Crew::open(project, order.way)?;
        let runtime = reach::runtime()?;
        let (last, first): (Vec<_>, Vec<_>) =
            resets.into_iter().partition(|node| node.role == Role::Controlplane);
        // The certificate of a worker is from a control plane: without any it need not answer.
        for nodes in [first, last] {
            let done = runtime.block_on(wipe(&crew, &nodes, order.timeout));
            for (node, done) in nodes.iter().zip(done) {
                match done {
                    Ok(word) => writeln!(out, "{}: {word}", node.name)?,
                    Err(why) => remains.push(format!("{} was not reset: {why}", node.name)),
                }
            }
        }
    }
    for node in doomed(Fate::Deleted) {
        let name = node.name.as_str();
        match fleet.provider(name).map(|provider| provider.delete(name)) {
            Some(Err(error)) => {
                let stays = provider_place(fleet, name);
                remains.push(format!("{name} at {stays}: {:#}", anyhow::Error::from(error)));
            }
            _ => writeln!(out, "{name}: deleted")?,
        }
    }
    if !remains.is_empty() {
        remains.extend(
            traces.record.iter().map(|path| format!("{}: what `ichor up` remembers", path.display())),
        );
        let path = traces.kubeconfig.iter().map(|(path, _)| format!("the cluster in {}", path.display()));
        remains.extend(path);
        return Ok(remains);
    }
    if let Some((path, authority)) = &traces.kubeconfig
        && let Err(error) = kubeconfig::take_out(path, authority)
    {
        remains.push(format!("the cluster in {}: {error:#}", path.display()));
    }
    if let Some(Err(error)) = place.map(Place::remove) {
        remains.push(format!("{:#}", anyhow::Error::from(error)));
    }
    Ok(remains)
}

fn provider_place(fleet: &Fleet, name: &str) -> String {
    fleet.provider(name).map(|provider| provider.place()).unwrap_or_default()
}

/// Resets machines all at once: nobody has to leave a cluster that ends.
async fn wipe(crew: &Crew<'_>, nodes: &[&NodePlan], patience: Duration) -> Vec<Result<&'static str, String>> {
    let one = async |node: &NodePlan| match crew.look(node).await {
        Answers::Maintenance(_) => Ok("has no configuration already"),
        Answers::Nobody(why) => Err(why),
        Answers::Node(_) => {
            let how = How { graceful: false, wipe: Wipe::System, off: false };
            forget(crew, node.name.as_str(), how, patience).await.map(|_| "reset")
        }
    };
    join_all(nodes.iter().map(|node| one(node))).await
}
