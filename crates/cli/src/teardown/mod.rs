//! Tears a cluster down: deletes or resets its machines, and removes its record and kubeconfig context. Its secrets stay.
//!
//! Every step is tried, and failures are reported at the end. A repeated run continues with the remaining steps.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use ichor_core::cluster::section::Role;
use ichor_core::plan::NodePlan;
use ichor_core::render::hypervisor::medium::MediumSource;
use ichor_core::reset::Wipe;
use ichor_core::teardown::{Disposition, TeardownMachine};
use ichor_talos::secrets::Pem;

use crate::chain::chain;
use crate::cluster_client::{ClusterClient, ClusterError, ClusterOpenError, NodeLookup};
use crate::cluster_secrets;
use crate::cluster_secrets::bundle_file::BundleError;
use crate::connect::{self, ConnectOptions, RuntimeError};
use crate::machines::{Fleet, MachineState};
use crate::project::Project;
use crate::reset::{ResetMode, reset_node};
use crate::style;
use crate::up::kubeconfig::{self, KubeconfigError};
use crate::up::state_dir::{ClusterStateDir, StateDirError, state_folder};
use crate::up::{Reporter, StepState};

/// Options of `ichor down`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct TeardownOptions<'o> {
    pub file: &'o Path,
    pub way: &'o ConnectOptions,
    /// Reset machines that ichor did not create.
    pub reset: bool,
    pub dry_run: bool,
    pub json: bool,
    pub yes: bool,
    /// Time limit for the reset of a machine.
    pub timeout: Duration,
    /// Kubeconfig to remove the cluster from.
    pub kubeconfig: Option<PathBuf>,
}

/// Local state of a cluster.
#[derive(Default)]
pub(crate) struct LocalTraces {
    /// The record of `ichor up`.
    pub record: Option<PathBuf>,
    /// Kubeconfig with a context of the cluster, and the CA that identifies it.
    pub kubeconfig: Option<(PathBuf, Pem)>,
}

/// Errors before the teardown starts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TeardownError {
    #[error(transparent)]
    Place(#[from] StateDirError),
    #[error(transparent)]
    Crew(#[from] ClusterOpenError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

/// Errors of finding the cluster in a kubeconfig.
#[derive(Debug, thiserror::Error)]
enum TraceError {
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
}

/// State of a node's machine at its provider.
pub(crate) fn inspect_machine(fleet: &Fleet, node: &str) -> TeardownMachine {
    let Some(provider) = fleet.provider(node) else { return TeardownMachine::Unprovided };
    let location = provider.location();
    if !provider.capabilities().creates_vms {
        return TeardownMachine::Real(location);
    }
    match provider.state(node) {
        Ok(MachineState::Absent) => TeardownMachine::Absent(location),
        Ok(MachineState::Foreign(which)) => TeardownMachine::Foreign(location, which),
        Ok(state) => {
            let made = provider
                .media(node)
                .into_iter()
                .filter(|medium| matches!(medium.source, MediumSource::Built(_)));
            TeardownMachine::Made {
                place: location,
                on: state == MachineState::On,
                media: made.map(|medium| medium.name).collect(),
            }
        }
        Err(error) => TeardownMachine::Unknown(location, chain(&error)),
    }
}

/// Local state of a cluster.
pub(crate) fn find_local_traces(project: &Project, options: &TeardownOptions<'_>) -> LocalTraces {
    let record = state_folder(options.file, project.plan.cluster.name.as_str());
    let secrets = cluster_secrets::bundle_file::bundle_path(project);
    let mut kubeconfig = None;
    if let Some(path) = options.kubeconfig.as_ref().filter(|_| secrets.exists()) {
        let found = || -> Result<Option<Pem>, TraceError> {
            let (bundle, _) = cluster_secrets::bundle_file::open(&secrets, options.way.identity.path())?;
            Ok(kubeconfig::has_cluster(path, &bundle.k8s.crt)?.then_some(bundle.k8s.crt))
        };
        match found() {
            Ok(authority) => kubeconfig = authority.map(|authority| (path.clone(), authority)),
            Err(error) => style::say(&format!("{} is not changed: {}", path.display(), chain(&error))),
        }
    }
    LocalTraces { record: record.exists().then_some(record), kubeconfig }
}

/// Tears the cluster down; returns what could not be removed.
pub(crate) fn tear_down(
    project: &Project,
    fleet: &Fleet,
    nodes: &[&NodePlan],
    all: &[TeardownMachine],
    traces: &LocalTraces,
    options: &TeardownOptions<'_>,
    reporter: &Reporter,
) -> Result<Vec<String>, TeardownError> {
    // The lock excludes a concurrent `ichor up`.
    let state_dir = match &traces.record {
        Some(_) => Some(ClusterStateDir::lock(options.file, project.plan.cluster.name.as_str())?.0),
        None => None,
    };
    let mut leftovers = Vec::new();
    let with_fate = |fate: Disposition| {
        let each =
            nodes.iter().zip(all).filter(move |(_, machine)| machine.disposition(options.reset) == fate);
        each.map(|(node, _)| *node).collect::<Vec<_>>()
    };
    let resets = with_fate(Disposition::Reset);
    if !resets.is_empty() {
        let (client, _) = ClusterClient::open(project, options.way)?;
        let runtime = connect::runtime()?;
        let (last, first): (Vec<_>, Vec<_>) =
            resets.into_iter().partition(|node| node.role == Role::Controlplane);
        // Workers first: their API certificates are issued by control plane nodes.
        for nodes in [first, last] {
            let done = runtime.block_on(reset_machines(&client, &nodes, options.timeout, reporter));
            for (node, done) in nodes.iter().zip(done) {
                leftovers.extend(done.err().map(|why| format!("{} was not reset: {why}", node.name)));
            }
        }
    }
    for node in with_fate(Disposition::Deleted) {
        let name = node.name.as_str();
        reporter.report_step(Some(name), "delete", StepState::Begun, None, "");
        match fleet.provider(name).map(|provider| provider.delete(name)) {
            Some(Err(error)) => {
                let why = chain(&error);
                reporter.report_step(Some(name), "delete", StepState::Failed, None, &why);
                leftovers.push(format!("{name} at {}: {why}", provider_location(fleet, name)));
            }
            _ => reporter.report_step(Some(name), "delete", StepState::Done, None, ""),
        }
    }
    if !leftovers.is_empty() {
        leftovers
            .extend(traces.record.iter().map(|path| format!("{}: the record of `ichor up`", path.display())));
        let path = traces.kubeconfig.iter().map(|(path, _)| format!("the cluster in {}", path.display()));
        leftovers.extend(path);
        return Ok(leftovers);
    }
    if let Some((path, authority)) = &traces.kubeconfig
        && let Err(error) = kubeconfig::remove_cluster(path, authority)
    {
        leftovers.push(format!("the cluster in {}: {}", path.display(), chain(&error)));
    }
    if let Some(Err(error)) = state_dir.map(ClusterStateDir::remove) {
        leftovers.push(chain(&error));
    }
    Ok(leftovers)
}

fn provider_location(fleet: &Fleet, name: &str) -> String {
    fleet.provider(name).map(|provider| provider.location()).unwrap_or_default()
}

/// Resets machines in parallel: none has to leave etcd gracefully.
async fn reset_machines(
    client: &ClusterClient<'_>,
    nodes: &[&NodePlan],
    timeout: Duration,
    reporter: &Reporter,
) -> Vec<Result<(), ClusterError>> {
    let reset = async |node: &NodePlan| match client.locate(node).await {
        NodeLookup::Maintenance(_) => Ok("already in maintenance mode"),
        NodeLookup::Unreachable(why) => Err(ClusterError::Unreachable(why)),
        NodeLookup::Node(_) => {
            let mode = ResetMode { graceful: false, wipe: Wipe::System, off: false };
            reset_node(client, node.name.as_str(), mode, timeout).await.map(|_| "")
        }
    };
    let reported = async |node: &NodePlan| {
        let name = Some(node.name.as_str());
        reporter.report_step(name, "reset", StepState::Begun, None, "");
        let done = reset(node).await;
        match &done {
            Ok(detail) => reporter.report_step(name, "reset", StepState::Done, None, detail),
            Err(error) => reporter.report_step(name, "reset", StepState::Failed, None, &error.to_string()),
        }
        done.map(drop)
    };
    join_all(nodes.iter().map(|node| reported(node))).await
}
