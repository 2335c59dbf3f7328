//! `lab ls`: list the labs on this host.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use super::up::count_machines;
use crate::argument::OutputFormat;
use crate::lab::vm::{self, LabSummary};
use crate::lab::{LabDir, LabRecord};
use crate::table;

/// List the labs on this host
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: OutputFormat,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    let mut values = Vec::new();
    for dir in LabDir::all()? {
        let alive = dir.is_alive();
        let record = LabRecord::read(&dir).ok();
        let own = record.map(|record| {
            let (nodes, routers) = count_machines(&record.topology);
            LabSummary { file: record.file, nodes, routers }
        });
        let content = own.or_else(|| vm::lab_summary(&dir));
        let nodes = content.as_ref().map(|content| content.nodes);
        let routers = content.as_ref().map(|content| content.routers);
        let file = content.map(|content| content.file.display().to_string());
        let inside = vm::is_in_vm(&dir);
        let state = match (alive, inside) {
            (true, true) => "running in a virtual machine",
            (true, false) => "running",
            (false, _) => "dead",
        };
        let count = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
        rows.push(vec![
            dir.name().to_owned(),
            state.to_owned(),
            count(nodes),
            count(routers),
            file.clone().unwrap_or_default(),
        ]);
        values.push(json!({
            "lab": dir.name(), "running": alive, "virtual_machine": inside, "node_count": nodes, "router_count": routers, "cluster_file": file,
        }));
    }
    if args.format.json {
        serde_json::to_writer_pretty(&mut *out, &values)?;
        writeln!(out)?;
    } else if !rows.is_empty() {
        table::print(out, &["LAB", "STATE", "NODES", "ROUTERS", "FILE"], &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}
