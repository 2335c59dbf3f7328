//! `upgrade`: bring nodes to the Talos release of the file, one after the other.

mod told;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use ichor_core::upgrade::{Plan, plan};

use crate::argument::{ClusterFile, Consent, Events, Rehearsal, time};
use crate::configuration::configurations;
use crate::consent::consents;
use crate::crew::Crew;
use crate::project::Project;
use crate::reach::{self, Way};
use crate::refused::Refused;
use crate::style;
use crate::up::Teller;
use crate::upgrade::{Order, look, walk};

/// Bring nodes to the Talos release that the file says, one after the other
///
/// The command queries what every node runs, and prints the plan. Control planes come first, one at a time, and only while etcd keeps its
/// majority without them. Each node is upgraded with the installer of its configuration, drained and rebooted. The next one begins when it
/// runs the new release, etcd is complete and every health check of Talos passes. The first failure stops the upgrade.
///
/// The cluster is the only record: run the command again after it stopped or was killed. Nodes that run the release are left alone.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Refused are steps back, jumps over a minor release, an installer for another platform, and a release that does \
                        not run the Kubernetes there is.\n\nExamples:\n  ichor upgrade --dry-run\n  ichor upgrade --only solwk01\n  \
                        ichor upgrade --yes --json\n\n\
                        Exit status: 0 done, 1 not, or with --dry-run there is something to do."
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Upgrade these nodes only
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    #[command(flatten)]
    rehearsal: Rehearsal,
    #[command(flatten)]
    events: Events,
    #[command(flatten)]
    consent: Consent,
    /// Allow an outage of the API while one of two control planes reboots
    #[arg(long)]
    outage: bool,
    /// Time limit for a node to return and the cluster to be healthy
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = time)]
    timeout: Duration,
    /// Time limit for draining a node
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time)]
    drain_timeout: Duration,
    #[command(flatten)]
    way: Way,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let order = Order {
        way: &args.way,
        only: &args.only,
        dry_run: args.rehearsal.dry_run,
        json: args.events.json,
        yes: args.consent.yes,
        outage: args.outage,
        timeout: args.timeout,
        drain_timeout: args.drain_timeout,
    };
    upgrade(&project, &order, out)
}

/// Upgrades the nodes of a cluster, or says what that would take.
fn upgrade(project: &Project, order: &Order<'_>, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    for name in order.only {
        project.node(name)?;
    }
    let (crew, bundle) = Crew::open(project, order.way)?;
    let nodes: Vec<_> = project.plan.nodes.iter().collect();
    let configs = configurations(project, &nodes, &bundle, order.way.identity.path())
        .map_err(|errors| Refused::Unrendered { errors, consequence: Some("nothing was done") })?;
    let runtime = reach::runtime()?;
    let (candidates, etcd) = runtime.block_on(look(&crew, &nodes, &configs, order.only));
    let plan = match plan(&candidates, etcd.as_ref().ok(), order.outage) {
        Ok(plan) => plan,
        Err(obstacles) => {
            told::refused(&obstacles, etcd.err(), order.json, out)?;
            return Ok(ExitCode::FAILURE);
        }
    };
    told::plan(&plan, order.json, out)?;
    if order.dry_run {
        if plan.is_empty() && !order.json {
            style::say("nothing is to be done: every node runs what the file says");
        }
        return Ok(ExitCode::from(u8::from(!plan.is_empty())));
    }
    if plan.is_empty() {
        style::say("every node runs what the file says; nothing was to be done");
        return Ok(ExitCode::SUCCESS);
    }
    if !plan.steps.is_empty() && !consents(&question(&plan), "yes", order.yes)? {
        return Err(Refused::Declined.into());
    }
    let teller = Teller::new(order.json);
    let ended = runtime.block_on(walk(&crew, &plan, order, &teller));
    Ok(told::end(&teller, ended))
}

fn question(plan: &Plan) -> String {
    match plan.steps.as_slice() {
        [one] if one.other.is_some() => format!("{} is given another image and reboots.", one.node),
        [one] => format!("{} is upgraded to {} and reboots.", one.node, one.to),
        steps => format!("These {} nodes are upgraded and reboot, one after the other.", steps.len()),
    }
}
