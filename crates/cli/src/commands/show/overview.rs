//! `show` without a view: an overview of the cluster.

use std::io::Write;

use ichor_core::plan::why::cluster_rows;
use serde_json::{Map, Value, json};

use super::nodes;
use crate::project::Project;
use crate::{style, table};

/// Largest number of nodes in the overview.
const MOST_NODES: usize = 50;

pub(super) fn print(project: &Project, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let plan = &project.plan;
    let rows = cluster_rows(&plan.cluster);
    if as_json {
        let decided: Map<_, _> =
            rows.into_iter().map(|(key, value, _)| (key, Value::String(value))).collect();
        let names: Vec<_> = plan.nodes.iter().map(|node| node.name.as_str()).collect();
        let overview = json!({"cluster": plan.cluster.name.as_str(), "cluster_id": plan.cluster.id, "settings": decided, "nodes": names});
        serde_json::to_writer_pretty(&mut *out, &overview)?;
        writeln!(out)?;
        return Ok(());
    }
    let id = plan.cluster.id.map(|id| format!(" ({id})")).unwrap_or_default();
    let controls = plan.control_planes().count();
    let (bold, reset) = (style::BOLD, style::BOLD.render_reset());
    writeln!(
        out,
        "{bold}{}{reset}{id}: {}, {}\n",
        plan.cluster.name,
        plural(controls, "control plane"),
        plural(plan.nodes.len() - controls, "worker")
    )?;
    let rows: Vec<_> = rows.into_iter().map(|(key, value, _)| vec![key, value]).collect();
    table::print(out, &["KEY", "VALUE"], &rows)?;
    writeln!(out)?;
    let rows: Vec<_> = plan.nodes.iter().take(MOST_NODES).map(nodes::row).collect();
    table::print(out, nodes::HEADING, &rows)?;
    if plan.nodes.len() > MOST_NODES {
        writeln!(out, "and {} more; list them with `ichor show nodes`", plan.nodes.len() - MOST_NODES)?;
    }
    Ok(())
}

fn plural(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
