//! `status`: print the state of every node and how it differs from the cluster file.

use std::io::{IsTerminal as _, Write, stdout};
use std::process::ExitCode;
use std::time::Duration;

use ichor_core::observe::ClusterStatusReport;
use ichor_core::plan::NodePlan;

use crate::argument::ClusterFile;
use crate::configuration::configurations_to_compare;
use crate::connect::{self, ConnectOptions, NodeConnector};
use crate::{observe, style};

/// Time between two queries of the nodes.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Show the state of every node and how it differs from the cluster file
///
/// The command queries all nodes at once, each at every address in the cluster file. It reports the stage and readiness of each node,
/// its Talos release, its state in Kubernetes and etcd, its extensions, its BGP sessions, and whether its configuration is the one that
/// `ichor build` would write. Machines in maintenance mode are listed as well, and nodes that do not answer with the reason. The
/// command is read-only.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 the cluster matches the file, 1 it does not, 2 it cannot be queried.\n\n\
                        Examples:\n  ichor status\n  ichor status --watch\n  ichor status --json | jq '.nodes[] | select(.problems != [])'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Refresh every five seconds until Ctrl-C
    #[arg(short, long)]
    watch: bool,
    /// Print JSON, with --watch one line per refresh
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    way: ConnectOptions,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let (connector, bundle) = NodeConnector::open(&project, &args.way)?;
    let nodes: Vec<&NodePlan> = project.plan.nodes.iter().collect();
    let wanted = configurations_to_compare(&project, &nodes, bundle.as_ref(), args.way.identity.path())?;
    connect::runtime()?.block_on(async {
        loop {
            let report = observe::observe_cluster(&project, &connector, wanted.as_deref()).await;
            print(&report, args, out)?;
            if !args.watch {
                return Ok(ExitCode::from(u8::from(!report.is_healthy())));
            }
            out.flush()?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    })
}

fn print(report: &ClusterStatusReport, args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    if args.json {
        let text =
            if args.watch { serde_json::to_string(report)? } else { serde_json::to_string_pretty(report)? };
        writeln!(out, "{text}")?;
        return Ok(());
    }
    if args.watch && stdout().is_terminal() {
        // Cursor home, clear screen.
        write!(out, "\x1b[H\x1b[2J")?;
    }
    writeln!(out, "{}", report.table())?;
    let mut right = true;
    for (node, problem) in report.problems() {
        if right {
            writeln!(out)?;
        }
        right = false;
        let (colour, node) = (style::WARNING, node.unwrap_or("etcd"));
        writeln!(out, "{colour}{node}:{colour:#} {problem}")?;
    }
    if right {
        style::say(&format!("{} matches its cluster file", report.cluster));
    }
    Ok(())
}
