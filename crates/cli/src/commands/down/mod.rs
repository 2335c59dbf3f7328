//! `down`: take a cluster down, and keep its secrets.

mod told;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use ichor_core::cluster::section::Role;
use ichor_core::plan::NodePlan;
use ichor_core::teardown::{Fate, Machine, ends};

use crate::argument::{ClusterFile, Consent, Events, time};
use crate::consent::consents;
use crate::machines::Fleet;
use crate::project::Project;
use crate::reach::Way;
use crate::refused::Refused;
use crate::teardown::{Order, Traces, look, take_down, traces};
use crate::up::{Teller, kubeconfig};
use crate::vault;

/// Take a cluster down: its virtual machines with their disks, and every way to it
///
/// The command lists everything that it will destroy, and asks for the cluster's name. It deletes the virtual machines that ichor made for
/// the cluster, with their disks and boot media, and never touches a machine of another owner. Physical machines are left alone, or
/// reset with --reset. When nothing of the cluster is left, the record of `ichor up` and the context in the kubeconfig are removed. The
/// secrets are kept.
///
/// A step that fails does not stop the others: the command ends with a list of everything that is left.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ichor down --dry-run\n  ichor down\n  ichor down --reset --yes --json\n\n\
                        Exit status: 0 nothing is left, 1 something is, or with --dry-run there is something to do."
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Reset machines that ichor did not make: wipe their configuration and data
    #[arg(long)]
    reset: bool,
    /// Print what would be destroyed, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    events: Events,
    #[command(flatten)]
    consent: Consent,
    /// Time limit for a reset machine to reach maintenance mode
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    timeout: Duration,
    /// Kubeconfig to remove the cluster from; otherwise the first of $KUBECONFIG, or ~/.kube/config
    #[arg(long, value_name = "FILE", conflicts_with = "no_kubeconfig")]
    kubeconfig: Option<PathBuf>,
    /// Do not change any kubeconfig
    #[arg(long)]
    no_kubeconfig: bool,
    #[command(flatten)]
    way: Way,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let kubeconfig = match &args.kubeconfig {
        _ if args.no_kubeconfig => None,
        Some(path) => Some(path.clone()),
        // Without a default kubeconfig there is no context to remove.
        None => kubeconfig::usual().ok(),
    };
    let order = Order {
        file: &args.cluster.file,
        way: &args.way,
        reset: args.reset,
        dry_run: args.dry_run,
        json: args.events.json,
        yes: args.consent.yes,
        timeout: args.timeout,
        kubeconfig,
    };
    down(&project, &order, out)
}

/// Takes a cluster down, or says what that would destroy.
fn down(project: &Project, order: &Order<'_>, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let fleet = match Fleet::of(project.name(), &project.plan) {
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
        // The machines that are left still need them.
        Traces::default()
    };
    let secrets = vault::place::bundle_of(project);
    told::plan(&nodes, &all, &traces, &secrets, order, out)?;
    let idle = all.iter().all(|machine| machine.fate(order.reset) == Fate::Left);
    if idle && traces.record.is_none() && traces.kubeconfig.is_none() {
        return Ok(told::idle(order.json));
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
        return Err(Refused::Declined.into());
    }
    let teller = Teller::new(order.json);
    let remains = take_down(project, &fleet, &nodes, &all, &traces, order, &teller)?;
    Ok(told::end(teller, cluster, &remains, &secrets, order.json))
}
