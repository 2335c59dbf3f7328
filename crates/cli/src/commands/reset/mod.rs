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

/// Have nodes forget what they are, and the cluster forget them
///
/// First it is told what will be destroyed, and the names of the nodes have to be typed. A node is drained, leaves etcd, wipes its
/// configuration and data, and starts again in maintenance mode, as if it were new; then Kubernetes forgets it. Nothing is done
/// if etcd would not have a majority without it. What was not finished is finished by doing it again.
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
    /// Switch the machine off in the place of starting it again
    #[arg(long)]
    power_off: bool,
    /// Take nodes out of etcd and Kubernetes that do not answer and never will
    #[arg(long)]
    gone: bool,
    /// Reset the last control plane, too: the cluster ends, and everything in it is lost
    #[arg(long)]
    destroy_cluster: bool,
    #[command(flatten)]
    rehearsal: Rehearsal,
    #[command(flatten)]
    events: Events,
    #[command(flatten)]
    consent: Consent,
    /// Give up when a machine has not forgotten after so long
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
