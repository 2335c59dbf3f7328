//! `diff`: compare the configurations of running nodes with the cluster file.

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use futures_util::{StreamExt as _, stream};
use ichor_core::plan::NodePlan;
use ichor_talos::difference::{Difference, between, documents};
use ichor_talos::document::one_line;
use serde::Serialize;
use serde_json::Value;

use crate::argument::{ClusterFile, OutputFormat};
use crate::configuration::configurations;
use crate::connect::{self, ConnectOptions, NodeAnswer, NodeConnector};
use crate::refusal::Refusal;
use crate::style;

/// Number of nodes queried at once.
const MAX_PARALLEL: usize = 64;
/// Longest value printed, in characters.
const MAX_VALUE: usize = 160;

/// Compare the configurations of running nodes with the cluster file
///
/// The command reads the active machine configuration of each node and compares it with the one that `ichor build` would write. Both
/// are compared as Talos parses them: order, comments and notation do not matter. Secrets are never printed, only that they differ.
/// The command is read-only.
#[derive(Debug, clap::Args)]
#[command(after_help = "Lines with - are on the node, lines with + in the cluster file.\n\n\
                        Exit status: 0 no differences, 1 differences, 2 a node did not answer.\n\n\
                        Examples:\n  ichor diff\n  ichor diff --only solcp01\n  ichor diff --json | jq '.[] | select(.differences != [])'")]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Compare only this node (repeatable)
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    #[command(flatten)]
    format: OutputFormat,
    #[command(flatten)]
    way: ConnectOptions,
}

/// The differences of one node.
#[derive(Debug, Serialize)]
struct NodeDiff {
    node: String,
    #[serde(rename = "error", skip_serializing_if = "Option::is_none")]
    unknown: Option<String>,
    differences: Vec<Difference>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let nodes = project.chosen(&args.only)?;
    let (connector, bundle) = NodeConnector::open(&project, &args.way)?;
    let Some(bundle) = bundle else {
        bail!("cannot compare without the secrets of the cluster; create them with `ichor secrets new`");
    };
    let wanted = configurations(&project, &nodes, &bundle, args.way.identity.path())
        .map_err(|errors| Refusal::Unrendered { errors, consequence: None })?;
    let compared: Vec<NodeDiff> = connect::runtime()?.block_on(async {
        let comparisons = nodes.iter().zip(&wanted).map(|(node, wanted)| compare(&connector, node, wanted));
        stream::iter(comparisons).buffered(MAX_PARALLEL).collect().await
    });
    if args.format.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&compared)?)?;
    } else {
        print(&compared, out)?;
    }
    let differs = compared.iter().any(|it| !it.differences.is_empty());
    let unknown = compared.iter().any(|it| it.unknown.is_some());
    Ok(ExitCode::from(if differs { 1 } else { 2 * u8::from(unknown) }))
}

async fn compare(connector: &NodeConnector, node: &NodePlan, wanted: &str) -> NodeDiff {
    let found = differences(connector, node, wanted).await;
    let (differences, unknown) = match found {
        Ok(differences) => (differences, None),
        Err(reason) => (Vec::new(), Some(format!("{reason:#}"))),
    };
    NodeDiff { node: node.name.to_string(), unknown, differences }
}

async fn differences(
    connector: &NodeConnector,
    plan: &NodePlan,
    wanted: &str,
) -> anyhow::Result<Vec<Difference>> {
    let reached = connector.find_node(plan).await;
    if matches!(reached, NodeAnswer::Maintenance(..)) {
        bail!("the node is in maintenance mode; configure it with `ichor up`");
    }
    let node = reached.node(plan.name.as_str())?;
    let Some(active) = node.machine_config().await? else {
        bail!("the node reports no machine configuration")
    };
    let talos = &plan.talos.value;
    let (Ok(actual), Ok(expected)) = (documents(&active, talos), documents(wanted, talos)) else {
        bail!("its configuration is not valid for Talos {talos}; check its release with `ichor status`");
    };
    Ok(between(&actual, &expected))
}

fn print(compared: &[NodeDiff], out: &mut dyn Write) -> anyhow::Result<()> {
    let (bold, less, more) = (style::BOLD, style::ERROR, style::GOOD);
    for node in compared {
        if let Some(reason) = &node.unknown {
            writeln!(out, "{bold}{}{bold:#}: not compared: {reason}", node.node)?;
        } else if node.differences.is_empty() {
            writeln!(out, "{bold}{}{bold:#}: no differences", node.node)?;
        } else {
            writeln!(out, "{bold}{}{bold:#}", node.node)?;
        }
        for difference in &node.differences {
            writeln!(out, "  {}", difference.path)?;
            if difference.actual.is_some() && difference.actual == difference.expected {
                writeln!(out, "    secret differs")?;
                continue;
            }
            for (value, sign, colour) in [(&difference.actual, '-', less), (&difference.expected, '+', more)]
            {
                if let Some(value) = value {
                    writeln!(out, "    {colour}{sign} {}{colour:#}", shortened(value))?;
                }
            }
        }
    }
    Ok(())
}

fn shortened(value: &Value) -> String {
    let line = one_line(value);
    // `one_line` gives ASCII: every character is one byte.
    if line.len() > MAX_VALUE { format!("{}...", &line[..MAX_VALUE]) } else { line }
}
