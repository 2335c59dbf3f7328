//! `reset`: have nodes forget what they are, and the cluster forget them.

mod told;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use ichor_core::reset::{Allowed, Wipe, plan};

use crate::argument::{ClusterOption, Consent, Events, Rehearsal, time};
use crate::consent::consents;
use crate::crew::Crew;
use crate::project::Project;
use crate::reach::{self, Way};
use crate::refused::Refused;
use crate::reset::{Order, look, walk};
use crate::up::Teller;

/// Reset nodes to maintenance mode, and remove them from the cluster
///
/// The command lists what it will destroy, and asks for the names of the nodes. It drains a node, removes it from etcd, wipes its
/// configuration and data, reboots it into maintenance mode, and deletes it from Kubernetes. It refuses to start if etcd would lose
/// its majority. Run it again to complete an interrupted reset.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ichor reset solwk03 --dry-run\n  ichor reset solwk03\n  ichor reset solcp02 --wipe disk --yes --json\n  \
                        ichor reset solcp02 --gone\n\n\
                        Exit status: 0 done, 1 not, or with --dry-run there is something to do."
)]
pub(crate) struct Args {
    /// Nodes, by their names in the cluster file
    #[arg(required = true, value_name = "NODE")]
    nodes: Vec<String>,
    #[command(flatten)]
    cluster: ClusterOption,
    /// What is wiped: what Talos keeps, so that the machine starts again in maintenance mode, or its whole system disk
    #[arg(long, value_enum, default_value_t)]
    wipe: What,
    /// Power the machine off instead of rebooting it
    #[arg(long)]
    power_off: bool,
    /// Remove nodes from etcd and Kubernetes that are gone for good
    #[arg(long)]
    gone: bool,
    /// Allow resetting the last control plane: the cluster and all its data are lost
    #[arg(long)]
    destroy_cluster: bool,
    #[command(flatten)]
    rehearsal: Rehearsal,
    #[command(flatten)]
    events: Events,
    #[command(flatten)]
    consent: Consent,
    /// Time limit for a machine to reach maintenance mode
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    timeout: Duration,
    #[command(flatten)]
    way: Way,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum What {
    #[default]
    System,
    Disk,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let order = Order {
        way: &args.way,
        nodes: &args.nodes,
        wipe: match args.wipe {
            What::System => Wipe::System,
            What::Disk => Wipe::Disk,
        },
        allowed: Allowed { last: args.destroy_cluster, gone: args.gone },
        power_off: args.power_off,
        dry_run: args.rehearsal.dry_run,
        json: args.events.json,
        yes: args.consent.yes,
        timeout: args.timeout,
    };
    reset(&project, &order, out)
}

/// Resets nodes, or says what that would do.
fn reset(project: &Project, order: &Order<'_>, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let nodes = order.nodes.iter().map(|name| project.node(name)).collect::<Result<Vec<_>, _>>()?;
    let (crew, _) = Crew::open(project, order.way)?;
    let runtime = reach::runtime()?;
    let (subjects, etcd) = runtime.block_on(look(&crew, &nodes));
    let steps = match plan(&subjects, etcd.as_ref().ok(), order.wipe, order.allowed) {
        Ok(steps) => steps,
        Err(obstacles) => {
            told::refused(&obstacles, order.json, out)?;
            return Ok(ExitCode::FAILURE);
        }
    };
    told::plan(&steps, order, out)?;
    if order.dry_run {
        return Ok(ExitCode::FAILURE);
    }
    let names = steps.iter().map(|step| step.node.as_str()).collect::<Vec<_>>().join(" ");
    if !consents("This cannot be undone.", &names, order.yes)? {
        return Err(Refused::Declined.into());
    }
    let teller = Teller::new(order.json);
    let ended = runtime.block_on(walk(&crew, &subjects, &steps, order, &teller));
    Ok(told::end(&teller, ended))
}
