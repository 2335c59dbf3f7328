//! `status`: how the nodes of a cluster are.

use std::io::{IsTerminal as _, Write, stdout};
use std::process::ExitCode;
use std::time::Duration;

use ichor_core::observe::Report;
use ichor_core::plan::NodePlan;

use crate::argument::ClusterFile;
use crate::configuration::comparable;
use crate::reach::{self, Reach, Way};
use crate::{observe, style};

/// How long until the nodes are asked again.
const PAUSE: Duration = Duration::from_secs(5);

/// Ask every node how it is, and say what is not as the file means it
///
/// All nodes are asked at once, each at every address the file knows of it. Told are the stage of each, whether it is ready and what it
/// lacks, its Talos release, what Kubernetes and etcd think of it, its extensions, its BGP sessions (as its agent last said, or as
/// Talos' own BGP says), and whether its configuration is the one that `ichor build` would write. Machines that wait for their
/// configuration are told as well, and for nodes that do not answer, why. Nothing is changed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all is as the file means it, 1 it is not, 2 it could not be found out.\n\n\
                        Examples:\n  ichor status\n  ichor status --watch\n  ichor status --json | jq '.nodes[] | select(.problems != [])'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Ask again every five seconds, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
    /// Print JSON; with --watch one line each time
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    way: Way,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let (reach, bundle) = Reach::open(&project, &args.way)?;
    let nodes: Vec<&NodePlan> = project.plan.nodes.iter().collect();
    let wanted = comparable(&project, &nodes, bundle.as_ref(), args.way.identity.path())?;
    reach::runtime()?.block_on(async {
        loop {
            let report = observe::cluster(&project, &reach, wanted.as_deref()).await;
            print(&report, args, out)?;
            if !args.watch {
                return Ok(ExitCode::from(u8::from(!report.is_right())));
            }
            out.flush()?;
            tokio::time::sleep(PAUSE).await;
        }
    })
}

fn print(report: &Report, args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    if args.json {
        let text =
            if args.watch { serde_json::to_string(report)? } else { serde_json::to_string_pretty(report)? };
        writeln!(out, "{text}")?;
        return Ok(());
    }
    if args.watch && stdout().is_terminal() {
        // Home, and nothing left of what was there.
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
        style::say(&format!("{} is as its file means it", report.cluster));
    }
    Ok(())
}
