//! `reset`: reset nodes to maintenance mode and remove them from the cluster.

mod output;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ichor_core::etcd::RemovalImpact;
use ichor_core::reset::{ResetPermissions, Wipe, plan};

use crate::argument::{ClusterOption, Confirmation, DryRun, EventFormat, time};
use crate::cluster_client::ClusterClient;
use crate::confirmation::confirm;
use crate::connect::{self, ConnectOptions};
use crate::project::Project;
use crate::refusal::Refusal;
use crate::reset::{ResetOptions, observe_nodes, reset_nodes};
use crate::up::Reporter;
use crate::up::state_dir::ClusterStateDir;

/// Reset nodes to maintenance mode and remove them from the cluster
///
/// The command lists what it will destroy and asks for the names of the nodes. It drains a node, removes it from etcd, wipes its
/// configuration and data, reboots it into maintenance mode, and deletes it from Kubernetes. It refuses to start if etcd would lose
/// its majority. Run it again to complete an interrupted reset.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all nodes are reset, 1 not all, or with --dry-run something\nwould be done.\n\n\
                  Examples:\n  ichor reset solwk03 --dry-run\n  ichor reset solwk03\n  ichor reset solcp02 --wipe disk --yes --json\n  \
                  ichor reset solcp02 --gone"
)]
pub(crate) struct Args {
    /// Nodes to reset
    #[arg(required = true, value_name = "NODE")]
    nodes: Vec<String>,
    #[command(flatten)]
    cluster: ClusterOption,
    /// Data to wipe
    #[arg(long, value_enum, value_name = "SCOPE", default_value_t)]
    wipe: WipeScope,
    /// Power the machine off instead of rebooting it
    #[arg(long)]
    power_off: bool,
    /// Remove nodes from etcd and Kubernetes whose machines no longer exist
    #[arg(long)]
    gone: bool,
    /// Allow resetting the last control plane, which destroys the cluster
    #[arg(long)]
    destroy_cluster: bool,
    #[command(flatten)]
    dry_run: DryRun,
    #[command(flatten)]
    events: EventFormat,
    #[command(flatten)]
    confirmation: Confirmation,
    /// Time limit for a machine to reach maintenance mode
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = time)]
    timeout: Duration,
    #[command(flatten)]
    way: ConnectOptions,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum WipeScope {
    /// Talos' partitions: the machine boots into maintenance mode
    #[default]
    System,
    /// The system disk, including Talos
    Disk,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let order = ResetOptions {
        way: &args.way,
        nodes: &args.nodes,
        wipe: match args.wipe {
            WipeScope::System => Wipe::System,
            WipeScope::Disk => Wipe::Disk,
        },
        allowed: ResetPermissions { last: args.destroy_cluster, gone: args.gone },
        power_off: args.power_off,
        dry_run: args.dry_run.enabled,
        json: args.events.json,
        yes: args.confirmation.yes,
        timeout: args.timeout,
    };
    reset(&project, &order, out)
}

/// Resets nodes, or prints what would be done.
fn reset(project: &Project, order: &ResetOptions<'_>, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let nodes = order.nodes.iter().map(|name| project.node(name)).collect::<Result<Vec<_>, _>>()?;
    let (client, _) = ClusterClient::open(project, order.way)?;
    let runtime = connect::runtime()?;
    let (subjects, etcd) = runtime.block_on(observe_nodes(&client, &nodes));
    let steps = match plan(&subjects, etcd.as_ref().ok(), order.wipe, order.allowed) {
        Ok(steps) => steps,
        Err(obstacles) => {
            output::report_refusal(&obstacles, order.json, out)?;
            return Ok(ExitCode::FAILURE);
        }
    };
    output::print_plan(&steps, order, out)?;
    if order.dry_run {
        return Ok(ExitCode::FAILURE);
    }
    let names = steps.iter().map(|step| step.node.as_str()).collect::<Vec<_>>().join(" ");
    if !confirm("This cannot be undone.", &names, order.yes)? {
        return Err(Refusal::Declined.into());
    }
    let destroyed = steps.iter().position(|step| step.departure == RemovalImpact::Last);
    // Locked meanwhile, so that no `ichor up` runs.
    let place = destroyed
        .map(|_| ClusterStateDir::lock(Path::new(project.name()), project.plan.cluster.name.as_str()));
    let place = place.transpose()?;
    let reporter = Reporter::new(order.json);
    let ended = runtime.block_on(reset_nodes(&client, &subjects, &steps, order, &reporter));
    let count = ended.as_ref().map_or_else(|failure| steps.len() - failure.left.len() - 1, |count| *count);
    if let Some((place, mut record)) = place
        && destroyed.is_some_and(|nth| nth < count)
    {
        record.forget_etcd();
        place.write(&record)?;
    }
    Ok(output::print_end(&reporter, ended))
}
