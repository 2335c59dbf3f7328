//! `verify`: find the root cause of every difference between a cluster and its file.

use std::io::Write;
use std::process::ExitCode;

use ichor_core::verify::run_checks;

use crate::argument::ClusterFile;
use crate::configuration::configurations_to_compare;
use crate::connect::{self, ConnectOptions, NodeConnector};
use crate::style;
use crate::verify::{ClusterObserver, MachineProviders};

/// Check a running cluster and report root causes with their fix
///
/// The checks run from the machine upwards: Talos API, identity, release, boot media, configuration, extensions, routing daemon, links
/// and MTU, addresses, BGP sessions from both ends, loopbacks, etcd, VIP and anycast, Kubernetes, pod network and overlay. A check is
/// skipped when one that it depends on failed. Machines in maintenance mode are checked as well. The command is read-only.
#[derive(Debug, clap::Args)]
#[command(after_help = "Routers are queried over SSH where the cluster file has fabric.routers[].reach.\n\n\
                        Exit status: 0 no check failed, 1 a check failed, 2 the checks could not run.\n\n\
                        Examples:\n  ichor verify\n  ichor verify --only solcp01\n  ichor verify --json | jq '.nodes[].checks[] | select(.result == \"failed\")'")]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Check only this node (repeatable)
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    /// Print JSON with the result of every check
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    way: ConnectOptions,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let nodes = project.chosen(&args.only)?;
    let (connector, bundle) = NodeConnector::open(&project, &args.way)?;
    let wanted = configurations_to_compare(&project, &nodes, bundle.as_ref(), args.way.identity.path())?;
    let mut wanted = wanted.unwrap_or_default().into_iter();
    let nodes = nodes.into_iter().map(|node| (node, wanted.next())).collect();
    let providers = MachineProviders::from_project(&project);
    let look = ClusterObserver {
        project: &project,
        connector: &connector,
        bundle: bundle.as_ref(),
        nodes,
        providers: &providers,
    };
    let seen = connect::runtime()?.block_on(look.observe());
    let report = run_checks(&project.cluster, &project.plan, &seen);
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        writeln!(out, "{}", report.to_text())?;
        if report.is_healthy() {
            style::say("no check failed");
        }
    }
    Ok(ExitCode::from(u8::from(!report.is_healthy())))
}
