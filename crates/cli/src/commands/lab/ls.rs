//! `lab ls`: which labs there are.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use super::up::counts;
use crate::argument::Format;
use crate::lab::vm::{self, Content};
use crate::lab::{Place, Record};
use crate::table;

/// List the labs that run here
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: Format,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    let mut values = Vec::new();
    for place in Place::all()? {
        let alive = place.is_alive();
        let record = Record::read(&place).ok();
        let own = record.map(|record| {
            let (nodes, routers) = counts(&record.scene);
            Content { file: record.file, nodes, routers }
        });
        let content = own.or_else(|| vm::content(&place));
        let nodes = content.as_ref().map(|content| content.nodes);
        let routers = content.as_ref().map(|content| content.routers);
        let file = content.map(|content| content.file.display().to_string());
        let inside = vm::holds(&place);
        let state = match (alive, inside) {
            (true, true) => "runs in a virtual machine",
            (true, false) => "runs",
            (false, _) => "dead",
        };
        let told = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
        rows.push(vec![
            place.name().to_owned(),
            state.to_owned(),
            told(nodes),
            told(routers),
            file.clone().unwrap_or_default(),
        ]);
        values.push(json!({
            "name": place.name(), "alive": alive, "virtual_machine": inside, "nodes": nodes, "routers": routers, "file": file,
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
