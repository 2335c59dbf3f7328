//! `upgrade`: upgrade nodes to the Talos release of the cluster file, one at a time.

mod output;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use ichor_core::upgrade::{UpgradePlan, plan};

use crate::argument::{ClusterFile, Confirmation, DryRun, EventFormat, time};
use crate::cluster_client::ClusterClient;
use crate::configuration::configurations;
use crate::confirmation::confirm;
use crate::connect::{self, ConnectOptions};
use crate::project::Project;
use crate::refusal::Refusal;
use crate::style;
use crate::up::Reporter;
use crate::upgrade::{UpgradeOptions, collect_candidates, upgrade_nodes};

/// Upgrade nodes to the Talos release of the cluster file, one at a time
///
/// The command queries the release of every node and prints the plan. Control planes come first, each only while etcd keeps its
/// majority without it. A node is upgraded with the installer of its configuration, drained and rebooted. The next one follows when
/// it runs the new release, etcd is complete and every health check of Talos passes. The first failure stops the upgrade.
///
/// No state is recorded outside of the cluster: run the command again after it stopped or was killed. Nodes that already run the
/// release are left alone. The command refuses downgrades, jumps over a minor release, an installer for another platform, and a
/// release that does not support the running Kubernetes version.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all nodes run the release, 1 not all do, or with --dry-run\nsomething would be done.\n\n\
                  Examples:\n  ichor upgrade --dry-run\n  ichor upgrade --only solwk01\n  ichor upgrade --yes --json"
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Upgrade only this node (repeatable)
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    #[command(flatten)]
    dry_run: DryRun,
    #[command(flatten)]
    events: EventFormat,
    #[command(flatten)]
    confirmation: Confirmation,
    /// Allow an API outage while one of two control planes reboots
    #[arg(long)]
    outage: bool,
    /// Time limit for a node to return and the cluster to become healthy
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = time)]
    timeout: Duration,
    /// Time limit for draining a node
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = time)]
    drain_timeout: Duration,
    #[command(flatten)]
    way: ConnectOptions,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let order = UpgradeOptions {
        way: &args.way,
        only: &args.only,
        dry_run: args.dry_run.enabled,
        json: args.events.json,
        yes: args.confirmation.yes,
        outage: args.outage,
        timeout: args.timeout,
        drain_timeout: args.drain_timeout,
    };
    upgrade(&project, &order, out)
}

/// Upgrades the nodes of a cluster, or prints what would be done.
fn upgrade(project: &Project, order: &UpgradeOptions<'_>, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    for name in order.only {
        project.node(name)?;
    }
    let (client, bundle) = ClusterClient::open(project, order.way)?;
    let nodes: Vec<_> = project.plan.nodes.iter().collect();
    let configs = configurations(project, &nodes, &bundle, order.way.identity.path())
        .map_err(|errors| Refusal::Unrendered { errors, consequence: Some("nothing was changed") })?;
    let runtime = connect::runtime()?;
    let (candidates, etcd) = runtime.block_on(collect_candidates(&client, &nodes, &configs, order.only));
    let plan = match plan(&candidates, etcd.as_ref().ok(), order.outage) {
        Ok(plan) => plan,
        Err(obstacles) => {
            output::report_refusal(&obstacles, etcd.err(), order.json, out)?;
            return Ok(ExitCode::FAILURE);
        }
    };
    output::print_plan(&plan, order.json, out)?;
    if order.dry_run {
        if plan.is_empty() && !order.json {
            style::say("nothing to do: every node runs the release of the cluster file");
        }
        return Ok(ExitCode::from(u8::from(!plan.is_empty())));
    }
    if plan.is_empty() {
        style::say("nothing to do: every node runs the release of the cluster file");
        return Ok(ExitCode::SUCCESS);
    }
    if !plan.steps.is_empty() && !confirm(&question(&plan), "yes", order.yes)? {
        return Err(Refusal::Declined.into());
    }
    let reporter = Reporter::new(order.json);
    let ended = runtime.block_on(upgrade_nodes(&client, &plan, order, &reporter));
    Ok(output::print_end(&reporter, ended))
}

fn question(plan: &UpgradePlan) -> String {
    match plan.steps.as_slice() {
        [one] if one.other.is_some() => format!("{} will get another image and reboot.", one.node),
        [one] => format!("{} will be upgraded to {} and reboot.", one.node, one.to),
        steps => format!("These {} nodes will be upgraded and reboot, one at a time.", steps.len()),
    }
}
