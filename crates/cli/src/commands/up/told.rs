//! What is said of bringing a cluster up.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use ichor_core::bringup::{Foreseen, Next, Seen, Wanted};
use ichor_values::Issue;
use serde_json::{Value, json};

use crate::project::Project;
use crate::report::{self, IssueKeys};
use crate::up::{Order, Outcome, Teller};
use crate::{style, table};

/// Says what will be done.
pub(super) fn plan(
    teller: &Teller,
    wanted: &Wanted,
    seen: &Seen,
    foreseen: &Foreseen,
    order: &Order<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let nodes = || wanted.nodes.iter().zip(&seen.nodes).zip(&foreseen.nodes);
    if order.json {
        let nodes: Vec<Value> = nodes()
            .map(|((node, seen), steps)| {
                let refused = steps.as_ref().err();
                json!({
                    "name": node.name,
                    "address": seen.at.map(|at| at.address),
                    "stage": seen.at.map(|at| at.stage),
                    "steps": steps.as_ref().ok(),
                    "refused": refused.map(|blocker| blocker.issue.message.as_str()),
                    "remedy": refused.map(|blocker| blocker.remedy()),
                })
            })
            .collect();
        teller.event("plan", json!({"nodes": nodes, "cluster": foreseen.cluster}), None);
        return Ok(());
    }
    let mut rows = Vec::new();
    for ((node, seen), steps) in nodes() {
        let at = seen.at.map(|at| at.to_string()).unwrap_or_default();
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
        style::say("nothing is to be done: every node runs what the file says");
    } else {
        table::print(out, &["node", "at", "to do"], &rows)?;
        out.flush()?;
    }
    Ok(())
}

/// Says what is in the way of machines, and that nothing was done.
pub(super) fn obstructed(
    project: &Project,
    obstacles: &[Issue],
    order: &Order<'_>,
    start: Instant,
    out: &mut dyn Write,
) -> io::Result<ExitCode> {
    let words = "nothing was done: machines cannot be made or used as the file says";
    if order.json {
        let refused = obstacles.iter().map(|obstacle| match project.plan.node(&obstacle.subject) {
            Some(_) => report::issue_json(obstacle, IssueKeys::OF_NODE),
            None => json!({"reason": obstacle.headline(), "remedy": obstacle.help}),
        });
        nothing_done(refused.collect(), words, start);
    } else {
        for obstacle in obstacles {
            writeln!(out, "{}", report::line(obstacle))?;
        }
        style::say(words);
    }
    Ok(ExitCode::FAILURE)
}

/// Says which configurations cannot be made, and that nothing was done.
pub(super) fn unrendered(
    errors: &[Issue],
    order: &Order<'_>,
    start: Instant,
    out: &mut dyn Write,
) -> io::Result<ExitCode> {
    let words = "nothing was done: there are configurations that cannot be made";
    if order.json {
        let refused = errors.iter().map(|issue| {
            json!({"reason": issue.to_string(), "remedy": "mend it in the cluster file; `ichor build` says the same"})
        });
        nothing_done(refused.collect(), words, start);
    } else {
        report::unrendered(out, errors)?;
        style::say(words);
    }
    Ok(ExitCode::FAILURE)
}

/// Tells by events what was refused before anything was done.
fn nothing_done(refused: Vec<Value>, words: &str, start: Instant) {
    let (teller, count) = (Teller::json_since(start), refused.len());
    for event in refused {
        teller.event("refused", event, None);
    }
    teller.event("end", json!({"up": false, "refused": count, "reason": words}), None);
}

/// Says that it was stopped, and how to go on.
pub(super) fn stopped(order: &Order<'_>, start: Instant) -> ExitCode {
    let words = "stopped before the end: what was done is recorded, run `ichor up` again and it goes on";
    if order.json {
        Teller::json_since(start).event("end", json!({"up": false, "reason": words}), None);
    } else {
        style::say(words);
    }
    ExitCode::FAILURE
}

/// Says how it ended.
pub(super) fn end(
    wanted: &Wanted,
    outcome: &Outcome,
    nothing: bool,
    order: &Order<'_>,
    out: &mut dyn Write,
) -> io::Result<ExitCode> {
    let refused = outcome.decision.nodes.iter().filter(|next| matches!(next, Next::Refused(_))).count();
    let cluster = match &outcome.decision.cluster {
        Next::Refused(blocker) => Some(blocker),
        _ => None,
    };
    let up = refused == 0 && cluster.is_none();
    if order.json {
        let end = json!({"time": ichor_system::now(), "event": "end", "up": up, "refused": refused, "elapsed": outcome.elapsed.as_secs_f64(),
            "reason": cluster.map(|blocker| blocker.issue.headline())});
        writeln!(out, "{end}")?;
        return Ok(ExitCode::from(u8::from(!up)));
    }
    let mut rows = Vec::new();
    for (nth, node) in wanted.nodes.iter().enumerate().filter(|(_, node)| node.chosen) {
        let at = outcome.seen.nodes[nth].at.map(|at| at.to_string()).unwrap_or_default();
        let state = match &outcome.decision.nodes[nth] {
            Next::Refused(blocker) => blocker.issue.message.clone(),
            _ => "up".to_owned(),
        };
        let took = outcome.took[nth].map(|took| format!("{:.1} s", took.as_secs_f64())).unwrap_or_default();
        rows.push(vec![node.name.clone(), at, state, took]);
    }
    table::print(out, &["node", "at", "state", "took"], &rows)?;
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
        None if nothing => style::say("nothing was to be done: the cluster is up and healthy"),
        None => style::say(&format!("the cluster is up and healthy after {seconds:.1} s")),
    }
    Ok(ExitCode::from(u8::from(!up)))
}
