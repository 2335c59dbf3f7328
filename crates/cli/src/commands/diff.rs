//! `diff`: what would change on running nodes.

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use futures_util::{StreamExt as _, stream};
use ichor_core::plan::NodePlan;
use ichor_talos::difference::{Difference, between, documents};
use ichor_talos::document::one_line;
use serde::Serialize;
use serde_json::Value;

use crate::argument::{ClusterFile, Format};
use crate::configuration::configurations;
use crate::reach::{self, Reach, Reached, Way};
use crate::refused::Refused;
use crate::style;

/// So many nodes are asked at once.
const AT_ONCE: usize = 64;
/// The most of a value that is shown on its line.
const SHOWN: usize = 160;

/// Show what the file would change on running nodes
///
/// The configuration that is in force on each node is compared with the one that `ichor build` would write, as Talos understands
/// both: order, comments and spelling mean nothing. Secrets are never shown, only that they differ. Nothing is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "- is what the node has, + what the file means.\n\
                        Exit status: 0 no difference, 1 there are some, 2 a node could not be asked.\n\n\
                        Examples:\n  ichor diff\n  ichor diff --only solcp01\n  ichor diff --json | jq '.[] | select(.differences != [])'")]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Compare only this node; may be given more than once
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    way: Way,
}

/// What came of comparing a node.
#[derive(Debug, Serialize)]
struct Compared {
    node: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<String>,
    differences: Vec<Difference>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let nodes = project.chosen(&args.only)?;
    let (reach, bundle) = Reach::open(&project, &args.way)?;
    let Some(bundle) = bundle else {
        bail!(
            "without the secrets of the cluster nobody knows what its configurations should be: `ichor secrets new`"
        );
    };
    let wanted = configurations(&project, &nodes, &bundle, args.way.identity.path())
        .map_err(|errors| Refused::Unrendered { errors, consequence: None })?;
    let compared: Vec<Compared> = reach::runtime()?.block_on(async {
        let asked = nodes.iter().zip(&wanted).map(|(node, wanted)| compare(&reach, node, wanted));
        stream::iter(asked).buffered(AT_ONCE).collect().await
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

async fn compare(reach: &Reach, node: &NodePlan, wanted: &str) -> Compared {
    let found = differences(reach, node, wanted).await;
    let (differences, unknown) = match found {
        Ok(differences) => (differences, None),
        Err(reason) => (Vec::new(), Some(format!("{reason:#}"))),
    };
    Compared { node: node.name.to_string(), unknown, differences }
}

async fn differences(reach: &Reach, plan: &NodePlan, wanted: &str) -> anyhow::Result<Vec<Difference>> {
    let reached = reach.node(plan).await;
    if matches!(reached, Reached::Maintenance(..)) {
        bail!("it has no configuration yet: `ichor up` brings it");
    }
    let node = reached.node(plan.name.as_str())?;
    let Some(active) = node.machine_config().await? else { bail!("it tells no configuration") };
    let talos = &plan.talos.value;
    let (Ok(is), Ok(shall)) = (documents(&active, talos), documents(wanted, talos)) else {
        bail!(
            "its configuration is not one of Talos {talos}: it may run another release, see `ichor status`"
        );
    };
    Ok(between(&is, &shall))
}

fn print(compared: &[Compared], out: &mut dyn Write) -> anyhow::Result<()> {
    let (bold, less, more) = (style::BOLD, style::ERROR, style::GOOD);
    for node in compared {
        if let Some(reason) = &node.unknown {
            writeln!(out, "{bold}{}{bold:#}: not compared: {reason}", node.node)?;
        } else if node.differences.is_empty() {
            writeln!(out, "{bold}{}{bold:#}: no difference", node.node)?;
        } else {
            writeln!(out, "{bold}{}{bold:#}", node.node)?;
        }
        for difference in &node.differences {
            writeln!(out, "  {}", difference.place)?;
            if difference.is.is_some() && difference.is == difference.shall {
                writeln!(out, "    another secret")?;
                continue;
            }
            for (value, sign, colour) in [(&difference.is, '-', less), (&difference.shall, '+', more)] {
                if let Some(value) = value {
                    writeln!(out, "    {colour}{sign} {}{colour:#}", short(value))?;
                }
            }
        }
    }
    Ok(())
}

fn short(value: &Value) -> String {
    let line = one_line(value);
    // It is ASCII: every letter is a byte.
    if line.len() > SHOWN { format!("{}...", &line[..SHOWN]) } else { line }
}
