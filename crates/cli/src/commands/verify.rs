//! `verify`: what keeps a cluster from being as its file means it.

use std::io::Write;
use std::process::ExitCode;

use ichor_core::verify::judge;

use crate::argument::ClusterFile;
use crate::configuration::comparable;
use crate::reach::{self, Reach, Way};
use crate::style;
use crate::verify::{Look, Providers};

/// Go through a cluster in order, and say what is broken first, by what that is known, and what helps
///
/// From the machine to Talos' API, identity, release, medium, configuration, extensions, the service that routes, links and MTU,
/// addresses, BGP sessions as node and routers see them, loopbacks, etcd, VIP and anycast, Kubernetes, the pod network and the
/// overlay. What would only be a consequence of something broken is not looked at. Machines are judged before they are
/// installed as well. Nothing is changed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing is broken (what nobody can see is said), 1 something is, 2 it could not be found out.\n\
                        Routers are asked over ssh where the file says how: fabric.routers[].reach.\n\n\
                        Examples:\n  ichor verify\n  ichor verify --only solcp01\n  ichor verify --json | jq '.nodes[].checks[] | select(.verdict == \"broken\")'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Only this node; may be given more than once
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    /// Print JSON, with every check
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    way: Way,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let nodes = project.chosen(&args.only)?;
    let (reach, bundle) = Reach::open(&project, &args.way)?;
    let wanted = comparable(&project, &nodes, bundle.as_ref(), args.way.identity.path())?;
    let mut wanted = wanted.unwrap_or_default().into_iter();
    let nodes = nodes.into_iter().map(|node| (node, wanted.next())).collect();
    let providers = Providers::of(&project);
    let look =
        Look { project: &project, reach: &reach, bundle: bundle.as_ref(), nodes, providers: &providers };
    let seen = reach::runtime()?.block_on(look.all());
    let report = judge(&project.cluster, &project.plan, &seen);
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        writeln!(out, "{}", report.text())?;
        if report.is_right() {
            style::say("nothing is broken");
        }
    }
    Ok(ExitCode::from(u8::from(!report.is_right())))
}
