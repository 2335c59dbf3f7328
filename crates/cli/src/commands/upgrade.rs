//! `upgrade`: bring nodes to the Talos release of the file, one after the other.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::project;
use crate::reach::Way;
use crate::upgrade::{Order, upgrade};

/// Bring nodes to the Talos release that the file says, one after the other
///
/// First every node is asked what it runs, and what will be done is told. Control planes come first, one at a time, and only while
/// etcd has a majority without them. Each gets the installer of its configuration, is drained, reboots, and has to come back with the
/// new release before the next one begins: etcd whole again and every health check of Talos good. The first that is not stops it.
///
/// Nothing is recorded but in the cluster: whenever it stops or is killed, run it again. Nodes that run the release are left alone.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Refused are steps back, jumps over a minor release, an installer for another platform, and a release that does \
                        not run the Kubernetes there is.\n\nExamples:\n  ichor upgrade --dry-run\n  ichor upgrade --only solwk01\n  \
                        ichor upgrade --yes --json\n\n\
                        Exit status: 0 done, 1 not, or with --dry-run there is something to do."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Args {
    /// Cluster file
    #[arg(default_value = "ichor.yaml")]
    file: PathBuf,
    /// Upgrade these nodes only
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Tell what happens as JSON, one event a line
    #[arg(long)]
    json: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Let a cluster of two control planes stand still while one of them reboots
    #[arg(long)]
    outage: bool,
    /// Give up when a node does not come back, or the cluster is not well, for so long
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = super::time)]
    timeout: Duration,
    /// Give up when pods have not left a node after so long
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = super::time)]
    drain_timeout: Duration,
    #[command(flatten)]
    way: Way,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = match project::open(&args.file)? {
        Ok(project) => project,
        Err(refused) => return refused.report(&args.file, out),
    };
    let order = Order {
        way: &args.way,
        only: &args.only,
        dry_run: args.dry_run,
        json: args.json,
        yes: args.yes,
        outage: args.outage,
        timeout: args.timeout,
        drain_timeout: args.drain_timeout,
    };
    upgrade(&project, &order, out)
}
