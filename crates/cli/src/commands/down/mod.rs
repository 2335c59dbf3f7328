//! `down`: delete the machines of a cluster and keep its secrets.

mod output;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use ichor_core::cluster::section::Role;
use ichor_core::plan::NodePlan;
use ichor_core::teardown::{Disposition, TeardownMachine, is_destroyed};

use crate::argument::{ClusterFile, Confirmation, EventFormat, time};
use crate::cluster_secrets;
use crate::confirmation::confirm;
use crate::connect::ConnectOptions;
use crate::machines::Fleet;
use crate::project::Project;
use crate::refusal::Refusal;
use crate::teardown::{LocalTraces, TeardownOptions, find_local_traces, inspect_machine, tear_down};
use crate::up::{Reporter, kubeconfig};

/// Delete the virtual machines of a cluster and its kubeconfig context
///
/// The command lists everything that it will destroy and asks for the cluster's name. It deletes the virtual machines that ichor
/// created for the cluster, with their disks and boot media. It never touches a machine of another owner. Physical machines are left
/// alone, or reset with --reset. When nothing of the cluster is left, the record of `ichor up` and the context in the kubeconfig are
/// removed. The secrets are kept.
///
/// A step that fails does not stop the others: the command ends with a list of everything that is left.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing is left, 1 something is left, or with --dry-run\nsomething would be deleted.\n\n\
                  Examples:\n  ichor down --dry-run\n  ichor down\n  ichor down --reset --yes --json"
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Reset machines that ichor did not create, wiping all their data
    #[arg(long)]
    reset: bool,
    /// Print what would be destroyed, without changing anything
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    events: EventFormat,
    #[command(flatten)]
    confirmation: Confirmation,
    /// Time limit for a reset machine to reach maintenance mode
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = time)]
    timeout: Duration,
    /// Kubeconfig to remove the cluster from
    ///
    /// [default: the first file of $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE", conflicts_with = "no_kubeconfig")]
    kubeconfig: Option<PathBuf>,
    /// Do not change any kubeconfig
    #[arg(long)]
    no_kubeconfig: bool,
    #[command(flatten)]
    way: ConnectOptions,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let kubeconfig = match &args.kubeconfig {
        _ if args.no_kubeconfig => None,
        Some(path) => Some(path.clone()),
        // Without a default kubeconfig there is no context to remove.
        None => kubeconfig::default_path().ok(),
    };
    let order = TeardownOptions {
        file: &args.cluster.file,
        way: &args.way,
        reset: args.reset,
        dry_run: args.dry_run,
        json: args.events.json,
        yes: args.confirmation.yes,
        timeout: args.timeout,
        kubeconfig,
    };
    down(&project, &order, out)
}

/// Deletes the machines of a cluster, or prints what would be deleted.
fn down(project: &Project, order: &TeardownOptions<'_>, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let fleet = match Fleet::from_plan(project.name(), &project.plan) {
        Ok(fleet) => fleet,
        Err(obstacles) => {
            bail!("{}", obstacles.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        }
    };
    let nodes: Vec<&NodePlan> = project.plan.nodes.iter().collect();
    let all: Vec<TeardownMachine> =
        nodes.iter().map(|node| inspect_machine(&fleet, node.name.as_str())).collect();
    let is_control_plane = |(node, _): &(&&NodePlan, &TeardownMachine)| node.role == Role::Controlplane;
    let control_planes = nodes.iter().zip(&all).filter(is_control_plane).map(|(_, machine)| machine);
    let traces = if is_destroyed(control_planes, order.reset) {
        find_local_traces(project, order)
    } else {
        // The machines that are left still need them.
        LocalTraces::default()
    };
    let secrets = cluster_secrets::bundle_file::bundle_path(project);
    output::print_plan(&nodes, &all, &traces, &secrets, order, out)?;
    let idle = all.iter().all(|machine| machine.disposition(order.reset) == Disposition::Left);
    if idle && traces.record.is_none() && traces.kubeconfig.is_none() {
        return Ok(output::print_idle(order.json));
    }
    if order.dry_run {
        return Ok(ExitCode::FAILURE);
    }
    let cluster = project.plan.cluster.name.as_str();
    if !confirm(&format!("All of this will be deleted permanently: cluster {cluster}."), cluster, order.yes)?
    {
        return Err(Refusal::Declined.into());
    }
    let reporter = Reporter::new(order.json);
    let remains = tear_down(project, &fleet, &nodes, &all, &traces, order, &reporter)?;
    Ok(output::print_end(reporter, cluster, &remains, &secrets, order.json))
}
