//! The output of `down`.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use ichor_core::plan::NodePlan;
use ichor_core::table;
use ichor_core::teardown::{Disposition, TeardownMachine};
use serde_json::{Value, json};

use crate::style;
use crate::teardown::{LocalTraces, TeardownOptions};
use crate::up::Reporter;

/// Prints everything that will be destroyed, and what is kept.
pub(super) fn print_plan(
    nodes: &[&NodePlan],
    all: &[TeardownMachine],
    traces: &LocalTraces,
    secrets: &Path,
    order: &TeardownOptions<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let each = nodes.iter().zip(all);
    if order.json {
        let machines: Vec<Value> =
            each.map(|(node, machine)| machine_json(node, machine, order.reset)).collect();
        let more = json!({
            "nodes": machines,
            "record_folder": traces.record,
            "kubeconfig_file": traces.kubeconfig.as_ref().map(|(path, _)| path),
            "secrets_file": secrets,
        });
        Reporter::new(true).emit("plan", more, None);
        return Ok(());
    }
    let rows: Vec<Vec<String>> =
        each.map(|(node, machine)| vec![node.name.to_string(), machine.describe(order.reset)]).collect();
    writeln!(out, "{}", table::text(&["NODE", "MACHINE"], &rows))?;
    if let Some(record) = &traces.record {
        writeln!(out, "remove {}, the record of `ichor up`", record.display())?;
    }
    if let Some((path, _)) = &traces.kubeconfig {
        writeln!(out, "remove the cluster from {}", path.display())?;
    }
    style::say(&format!("keep the secrets in {}", secrets.display()));
    Ok(())
}

fn machine_json(node: &NodePlan, machine: &TeardownMachine, reset: bool) -> Value {
    let fate = match machine.disposition(reset) {
        Disposition::Deleted => "delete",
        Disposition::Reset => "reset",
        Disposition::Left => "keep",
    };
    json!({"node": node.name.as_str(), "action": fate, "description": machine.describe(reset)})
}

/// Prints that there is nothing to delete.
pub(super) fn print_idle(as_json: bool) -> ExitCode {
    if as_json {
        Reporter::new(true).emit("end", json!({"ok": true, "leftovers": []}), None);
    } else {
        style::say("nothing to do");
    }
    ExitCode::SUCCESS
}

/// Prints the result.
pub(super) fn print_end(
    reporter: Reporter,
    cluster: &str,
    remains: &[String],
    secrets: &Path,
    as_json: bool,
) -> ExitCode {
    reporter.emit(
        "end",
        json!({"ok": remains.is_empty(), "leftovers": remains, "secrets_file": secrets}),
        None,
    );
    drop(reporter);
    let code = ExitCode::from(u8::from(!remains.is_empty()));
    if as_json {
        return code;
    }
    for left in remains {
        style::say(&format!("{}left:{:#} {left}", style::ERROR, style::ERROR));
    }
    if remains.is_empty() {
        style::say(&format!("{cluster} is down; the secrets are in {}", secrets.display()));
    } else {
        style::say("fix the cause and run the command again to continue");
    }
    code
}
