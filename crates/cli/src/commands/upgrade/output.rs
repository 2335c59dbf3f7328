//! The output of `upgrade`.

use std::io::{self, Write};
use std::process::ExitCode;

use ichor_core::etcd::RebootImpact;
use ichor_core::table;
use ichor_core::upgrade::{UpgradeMethod, UpgradePlan, UpgradeStep};
use ichor_values::Issue;
use serde_json::{Value, json};

use crate::cluster_client::ClusterError;
use crate::report;
use crate::style;
use crate::up::Reporter;
use crate::upgrade::UpgradeFailure;

/// Prints the plan, in order.
pub(super) fn print_plan(plan: &UpgradePlan, as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    if as_json {
        let steps: Vec<Value> = plan.steps.iter().map(step_json).collect();
        let more = json!({"nodes": steps, "uncordon": plan.uncordon, "up_to_date": plan.done});
        emit("plan", more);
        return Ok(());
    }
    if !plan.steps.is_empty() {
        let rows: Vec<Vec<String>> = plan.steps.iter().map(row).collect();
        writeln!(out, "{}", table::text(&["NODE", "FROM", "TO", "INSTALLER", "IMPACT"], &rows))?;
    }
    for step in &plan.steps {
        if let Some(other) = &step.other {
            writeln!(out, "{}: {other}", step.node)?;
        }
    }
    for node in &plan.uncordon {
        writeln!(out, "{node} runs the new release and will be uncordoned: its upgrade was interrupted")?;
    }
    if !plan.done.is_empty() && !plan.steps.is_empty() {
        style::say(&format!("already upgraded: {}", plan.done.join(", ")));
    }
    Ok(())
}

fn row(step: &UpgradeStep) -> Vec<String> {
    let impact = match step.absence {
        RebootImpact::Outage => "etcd and API outage",
        RebootImpact::Spared | RebootImpact::None => "",
    };
    let to = match &step.other {
        Some(_) => "another image".to_owned(),
        None => step.to.to_string(),
    };
    let words = [&step.node, &step.from.to_string(), &to, &step.image];
    words.into_iter().cloned().chain([impact.to_owned()]).collect()
}

fn step_json(step: &UpgradeStep) -> Value {
    json!({
        "node": step.node,
        "from_talos_version": step.from.to_string(),
        "to_talos_version": step.to.to_string(),
        "installer_image": step.image,
        "image_difference": step.other,
        "upgrade_api": match step.way { UpgradeMethod::Whole => "legacy", UpgradeMethod::Parts => "lifecycle" },
        "etcd_outage": step.absence == RebootImpact::Outage,
    })
}

/// An event before anything is under way.
fn emit(name: &str, more: Value) {
    Reporter::new(true).emit(name, more, None);
}

/// Prints why the command refuses to start.
pub(super) fn report_refusal(
    obstacles: &[Issue],
    etcd: Option<ClusterError>,
    as_json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if as_json {
        let all: Vec<Value> = obstacles.iter().map(report::issue_json).collect();
        emit("refused", json!({"problems": all, "etcd_error": etcd.map(|error| error.to_string())}));
        return Ok(());
    }
    for obstacle in obstacles {
        writeln!(out, "{}", report::line(obstacle))?;
    }
    if let Some(why) = etcd {
        style::say(&format!("cannot query etcd: {why}"));
    }
    style::say("nothing was changed");
    Ok(())
}

/// Prints the result.
pub(super) fn print_end(reporter: &Reporter, ended: Result<usize, UpgradeFailure>) -> ExitCode {
    let (more, line, code) = match ended {
        Ok(count) => {
            let line = format!("upgraded {count} nodes; the cluster is healthy");
            (json!({"ok": true, "nodes_upgraded": count}), line, ExitCode::SUCCESS)
        }
        Err(UpgradeFailure { node, step, why, left }) => {
            let rest =
                if left.is_empty() { String::new() } else { format!("; not upgraded: {}", left.join(", ")) };
            let line = format!(
                "stopped at {node}: {step}: {why}{rest}; fix the cause and run the command again to continue"
            );
            let more =
                json!({"ok": false, "node": node, "step": step, "message": why, "remaining_nodes": left});
            (more, line, ExitCode::FAILURE)
        }
    };
    reporter.emit("end", more, Some(line));
    code
}
