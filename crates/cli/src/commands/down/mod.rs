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
/// First everything that will be destroyed is named, and the cluster's name has to be typed. Virtual machines that were made for the
/// cluster are deleted, with their disks and the media made for them; one that is somebody else's is never touched. Machines that
/// nobody made are left alone, or forget what they are with --reset. The record of `ichor up` and the context in the kubeconfig are
/// removed when nothing of the cluster is left. Its secrets are kept.
///
/// What cannot be done does not keep the rest from being done: in the end everything that is left is told.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ichor down --dry-run\n  ichor down\n  ichor down --reset --yes --json\n\n\
                        Exit status: 0 nothing is left, 1 something is, or with --dry-run there is something to do."
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Reset machines that nobody made: their configuration and data are wiped
    #[arg(long)]
    reset: bool,
    /// Say what would be destroyed, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    events: Events,
    #[command(flatten)]
    consent: Consent,
    /// Give up when a machine that is reset is not in maintenance mode after so long
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    timeout: Duration,
    /// File to take the cluster out of; otherwise the first of $KUBECONFIG, or ~/.kube/config
    #[arg(long, value_name = "FILE", conflicts_with = "no_kubeconfig")]
    kubeconfig: Option<PathBuf>,
    /// Leave kubeconfigs alone
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
        // Where nobody says where it is, none leads to the cluster.
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
        // Whoever is left still needs them.
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
