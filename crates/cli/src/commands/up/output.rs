//! The output of `up`.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use ichor_core::bringup::{BringupPreview, DesiredState, NextStep, ObservedState};
use ichor_values::Issue;
use serde_json::{Value, json};

use crate::project::Project;
use crate::report;
use crate::up::{BringupOutcome, Reporter, UpOptions};
use crate::{style, table};

/// Prints the plan.
pub(super) fn print_plan(
    reporter: &Reporter,
    wanted: &DesiredState,
    observed: &ObservedState,
    foreseen: &BringupPreview,
    order: &UpOptions<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let nodes = || wanted.nodes.iter().zip(&observed.nodes).zip(&foreseen.nodes);
    if order.json {
        let nodes: Vec<Value> = nodes()
            .map(|((node, observed), steps)| {
                let refused = steps.as_ref().err();
                json!({
                    "node": node.name,
                    "address": observed.at.map(|at| at.address),
                    "address_stage": observed.at.map(|at| at.stage),
                    "steps": steps.as_ref().ok(),
                    "message": refused.map(|blocker| blocker.issue.message.as_str()),
                    "help": refused.map(|blocker| blocker.remedy()),
                })
            })
            .collect();
        reporter.emit("plan", json!({"nodes": nodes, "cluster_steps": foreseen.cluster}), None);
        return Ok(());
    }
    let mut rows = Vec::new();
    for ((node, observed), steps) in nodes() {
        let at = observed.at.map(|at| at.to_string()).unwrap_or_default();
        match steps {
            Ok(steps) if steps.is_empty() => {}
            Ok(steps) => rows.push(vec![node.name.clone(), at, steps.join("\n")]),
            Err(blocker) => {
                rows.push(vec![
                    node.name.clone(),
                    at,
                    format!("refused: {}\nhint: {}", blocker.issue.message, blocker.remedy()),
                ]);
            }
        }
    }
    rows.extend(foreseen.cluster.iter().map(|step| vec!["cluster".to_owned(), String::new(), step.clone()]));
    if rows.is_empty() {
        style::say("nothing to do: every node matches the cluster file");
    } else {
        table::print(out, &["NODE", "ADDRESS", "STEPS"], &rows)?;
        out.flush()?;
    }
    Ok(())
}

/// Prints the failed preflight checks, and that nothing was changed.
pub(super) fn print_blockers(
    project: &Project,
    obstacles: &[Issue],
    order: &UpOptions<'_>,
    start: Instant,
    out: &mut dyn Write,
) -> io::Result<ExitCode> {
    let message = "nothing was changed: preflight checks of machines failed";
    if order.json {
        let refused = obstacles.iter().map(|obstacle| match project.plan.node(&obstacle.subject) {
            Some(_) => json!({"node": obstacle.subject, "message": obstacle.message, "help": obstacle.help}),
            None => json!({"message": obstacle.headline(), "help": obstacle.help}),
        });
        emit_refusal(refused.collect(), message, start);
    } else {
        for obstacle in obstacles {
            writeln!(out, "{}", report::line(obstacle))?;
        }
        style::say(message);
    }
    Ok(ExitCode::FAILURE)
}

/// Prints the rendering errors, and that nothing was changed.
pub(super) fn print_render_errors(
    errors: &[Issue],
    order: &UpOptions<'_>,
    start: Instant,
    out: &mut dyn Write,
) -> io::Result<ExitCode> {
    let message = "nothing was changed: cannot render some configurations";
    if order.json {
        let refused = errors.iter().map(|issue| {
            json!({"message": issue.to_string(), "help": "fix the cluster file and check it with `ichor build`"})
        });
        emit_refusal(refused.collect(), message, start);
    } else {
        report::unrendered(out, errors)?;
        style::say(message);
    }
    Ok(ExitCode::FAILURE)
}

/// Emits the events of a run that is refused before the first step.
fn emit_refusal(refused: Vec<Value>, message: &str, start: Instant) {
    let (reporter, count) = (Reporter::json_since(start), refused.len());
    for event in refused {
        reporter.emit("refused", event, None);
    }
    reporter.emit("end", json!({"ok": false, "nodes_refused": count, "message": message}), None);
}

/// Prints that the run was interrupted, and how to resume it.
pub(super) fn print_interrupted(order: &UpOptions<'_>, start: Instant) -> ExitCode {
    let message = "interrupted; progress is recorded: run `ichor up` again to resume";
    if order.json {
        Reporter::json_since(start).emit("end", json!({"ok": false, "message": message}), None);
    } else {
        style::say(message);
    }
    ExitCode::FAILURE
}

/// Prints the result.
pub(super) fn print_end(
    wanted: &DesiredState,
    outcome: &BringupOutcome,
    idle: bool,
    order: &UpOptions<'_>,
    out: &mut dyn Write,
) -> io::Result<ExitCode> {
    let refused = outcome.decision.nodes.iter().filter(|next| matches!(next, NextStep::Refused(_))).count();
    let cluster = match &outcome.decision.cluster {
        NextStep::Refused(blocker) => Some(blocker),
        _ => None,
    };
    let up = refused == 0 && cluster.is_none();
    if order.json {
        let mut end = json!({
            "time": ichor_system::now(),
            "elapsed_seconds": outcome.elapsed.as_secs_f64(),
            "event": "end",
            "ok": up,
            "nodes_refused": refused,
        });
        if let Some(blocker) = cluster {
            end["message"] = json!(blocker.issue.headline());
        }
        writeln!(out, "{end}")?;
        return Ok(ExitCode::from(u8::from(!up)));
    }
    let mut rows = Vec::new();
    for (nth, node) in wanted.nodes.iter().enumerate().filter(|(_, node)| node.chosen) {
        let at = outcome.observed.nodes[nth].at.map(|at| at.to_string()).unwrap_or_default();
        let state = match &outcome.decision.nodes[nth] {
            NextStep::Refused(blocker) => blocker.issue.message.clone(),
            _ => "up".to_owned(),
        };
        let took = outcome.took[nth].map(|took| format!("{:.1} s", took.as_secs_f64())).unwrap_or_default();
        rows.push(vec![node.name.clone(), at, state, took]);
    }
    table::print(out, &["NODE", "ADDRESS", "STATE", "DURATION"], &rows)?;
    let seconds = outcome.elapsed.as_secs_f64();
    match cluster {
        Some(blocker) => {
            style::say(&format!(
                "{}error:{:#} {}\n  hint: {}",
                style::ERROR,
                style::ERROR,
                blocker.issue.headline(),
                blocker.remedy()
            ));
        }
        None if refused > 0 => style::say(&format!("{refused} nodes are not up")),
        None if idle => style::say("nothing to do: the cluster is up and healthy"),
        None => style::say(&format!("the cluster is up and healthy after {seconds:.1} s")),
    }
    Ok(ExitCode::from(u8::from(!up)))
}
