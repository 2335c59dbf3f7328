//! The end of a cluster: its machines, its record and the way to it are taken away; its secrets stay.
//!
//! Everything is tried, and what could not be done is told in the end: run again, it goes on with what is left.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use ichor_core::cluster::section::Role;
use ichor_core::plan::NodePlan;
use ichor_core::render::hypervisor::medium::Source;
use ichor_core::reset::Wipe;
use ichor_core::teardown::{Fate, Machine};
use ichor_talos::secrets::Pem;

use crate::chain::chain;
use crate::crew::{Answers, Crew, CrewError, CrewOpenError};
use crate::machines::{Fleet, State};
use crate::project::Project;
use crate::reach::{self, RuntimeError, Way};
use crate::reset::{How, forget};
use crate::style;
use crate::up::kubeconfig::{self, KubeconfigError};
use crate::up::place::{Place, PlaceError, folder};
use crate::up::{State as StepState, Teller};
use crate::vault;
use crate::vault::place::BundleError;

/// What is ordered.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Order<'o> {
    pub file: &'o Path,
    pub way: &'o Way,
    /// Reset machines that ichor did not make.
    pub reset: bool,
    pub dry_run: bool,
    pub json: bool,
    pub yes: bool,
    /// How long a machine may take to be reset.
    pub timeout: Duration,
    /// The kubeconfig to take the cluster out of.
    pub kubeconfig: Option<PathBuf>,
}

/// What there is of a cluster besides machines.
#[derive(Default)]
pub(crate) struct Traces {
    /// The record of `ichor up`.
    pub record: Option<PathBuf>,
    /// The kubeconfig that leads to it, and the authority by which that is known.
    pub kubeconfig: Option<(PathBuf, Pem)>,
}

/// Why a cluster was not even begun to be taken down.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TeardownError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Crew(#[from] CrewOpenError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

/// Why it is not known whether a kubeconfig leads to a cluster.
#[derive(Debug, thiserror::Error)]
enum TraceError {
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
}

/// What a provider says of a node's machine.
pub(crate) fn look(fleet: &Fleet, node: &str) -> Machine {
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
        Err(error) => Machine::Unknown(place, chain(&error)),
    }
}

/// What there is of a cluster besides machines.
pub(crate) fn traces(project: &Project, order: &Order<'_>) -> Traces {
    let record = folder(order.file, project.plan.cluster.name.as_str());
    let secrets = vault::place::bundle_of(project);
    let mut kubeconfig = None;
    if let Some(path) = order.kubeconfig.as_ref().filter(|_| secrets.exists()) {
        let found = || -> Result<Option<Pem>, TraceError> {
            let (bundle, _) = vault::place::open(&secrets, order.way.identity.path())?;
            Ok(kubeconfig::has(path, &bundle.k8s.crt)?.then_some(bundle.k8s.crt))
        };
        match found() {
            Ok(authority) => kubeconfig = authority.map(|authority| (path.clone(), authority)),
            Err(error) => style::say(&format!("{} is left as it is: {}", path.display(), chain(&error))),
        }
    }
    Traces { record: record.exists().then_some(record), kubeconfig }
}

/// Does all of it; what could not be done.
pub(crate) fn take_down(
    project: &Project,
    fleet: &Fleet,
    nodes: &[&NodePlan],
    all: &[Machine],
    traces: &Traces,
    order: &Order<'_>,
    teller: &Teller,
) -> Result<Vec<String>, TeardownError> {
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
            let done = runtime.block_on(wipe(&crew, &nodes, order.timeout, teller));
            for (node, done) in nodes.iter().zip(done) {
                remains.extend(done.err().map(|why| format!("{} was not reset: {why}", node.name)));
            }
        }
    }
    for node in doomed(Fate::Deleted) {
        let name = node.name.as_str();
        teller.step(Some(name), "delete", StepState::Begun, None, "");
        match fleet.provider(name).map(|provider| provider.delete(name)) {
            Some(Err(error)) => {
                let why = chain(&error);
                teller.step(Some(name), "delete", StepState::Failed, None, &why);
                remains.push(format!("{name} at {}: {why}", provider_place(fleet, name)));
            }
            _ => teller.step(Some(name), "delete", StepState::Done, None, ""),
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
        remains.push(format!("the cluster in {}: {}", path.display(), chain(&error)));
    }
    if let Some(Err(error)) = place.map(Place::remove) {
        remains.push(chain(&error));
    }
    Ok(remains)
}

fn provider_place(fleet: &Fleet, name: &str) -> String {
    fleet.provider(name).map(|provider| provider.place()).unwrap_or_default()
}

/// Resets machines all at once: nobody has to leave a cluster that ends.
async fn wipe(
    crew: &Crew<'_>,
    nodes: &[&NodePlan],
    patience: Duration,
    teller: &Teller,
) -> Vec<Result<(), CrewError>> {
    let one = async |node: &NodePlan| match crew.look(node).await {
        Answers::Maintenance(_) => Ok("it has no configuration already"),
        Answers::Nobody(why) => Err(CrewError::Nobody(why)),
        Answers::Node(_) => {
            let how = How { graceful: false, wipe: Wipe::System, off: false };
            forget(crew, node.name.as_str(), how, patience).await.map(|_| "")
        }
    };
    let told = async |node: &NodePlan| {
        let name = Some(node.name.as_str());
        teller.step(name, "reset", StepState::Begun, None, "");
        let done = one(node).await;
        match &done {
            Ok(said) => teller.step(name, "reset", StepState::Done, None, said),
            Err(error) => teller.step(name, "reset", StepState::Failed, None, &error.to_string()),
        }
        done.map(drop)
    };
    join_all(nodes.iter().map(|node| told(node))).await
}
