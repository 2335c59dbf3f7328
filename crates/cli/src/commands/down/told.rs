//! What is said of the end of a cluster.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use ichor_core::plan::NodePlan;
use ichor_core::table;
use ichor_core::teardown::{Fate, Machine};
use serde_json::{Value, json};

use crate::style;
use crate::teardown::{Order, Traces};
use crate::up::Teller;

/// Names everything that will be destroyed, and what is kept.
pub(super) fn plan(
    nodes: &[&NodePlan],
    all: &[Machine],
    traces: &Traces,
    secrets: &Path,
    order: &Order<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let each = nodes.iter().zip(all);
    if order.json {
        let machines: Vec<Value> = each.map(|(node, machine)| planned(node, machine, order.reset)).collect();
        let more = json!({
            "machines": machines,
            "record": traces.record,
            "kubeconfig": traces.kubeconfig.as_ref().map(|(path, _)| path),
            "secrets": secrets,
        });
        Teller::new(true).event("plan", more, None);
        return Ok(());
    }
    let rows: Vec<Vec<String>> =
        each.map(|(node, machine)| vec![node.name.to_string(), machine.told(order.reset)]).collect();
    writeln!(out, "{}", table::text(&["NODE", "ITS MACHINE IS"], &rows))?;
    if let Some(record) = &traces.record {
        writeln!(out, "{} is removed: what `ichor up` remembers", record.display())?;
    }
    if let Some((path, _)) = &traces.kubeconfig {
        writeln!(out, "the cluster is taken out of {}", path.display())?;
    }
    style::say(&format!("the secrets in {} are kept", secrets.display()));
    Ok(())
}

fn planned(node: &NodePlan, machine: &Machine, reset: bool) -> Value {
    let fate = match machine.fate(reset) {
        Fate::Deleted => "deleted",
        Fate::Reset => "reset",
        Fate::Left => "left",
    };
    json!({"node": node.name.as_str(), "fate": fate, "said": machine.told(reset)})
}

/// Says that nothing is to be done.
pub(super) fn idle(as_json: bool) -> ExitCode {
    if as_json {
        Teller::new(true).event("end", json!({"ok": true, "left": []}), None);
    } else {
        style::say("nothing is to be done");
    }
    ExitCode::SUCCESS
}

/// Says how it ended.
pub(super) fn end(
    teller: Teller,
    cluster: &str,
    remains: &[String],
    secrets: &Path,
    as_json: bool,
) -> ExitCode {
    teller.event("end", json!({"ok": remains.is_empty(), "left": remains, "secrets": secrets}), None);
    drop(teller);
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
        style::say("run the same again when that is set right: it goes on with what is left");
    }
    code
}
