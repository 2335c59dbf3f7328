//! What is said of an upgrade.

use std::io::{self, Write};
use std::process::ExitCode;

use ichor_core::etcd::Absence;
use ichor_core::table;
use ichor_core::upgrade::{Plan, Step, Way};
use ichor_values::Issue;
use serde_json::{Value, json};

use crate::crew::CrewError;
use crate::report::{self, IssueKeys};
use crate::style;
use crate::up::Teller;
use crate::upgrade::Stopped;

/// Says what will be done, in its order.
pub(super) fn plan(plan: &Plan, as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    if as_json {
        let steps: Vec<Value> = plan.steps.iter().map(step).collect();
        let more = json!({"upgrade": steps, "uncordon": plan.uncordon, "done": plan.done});
        event("plan", more);
        return Ok(());
    }
    if !plan.steps.is_empty() {
        let rows: Vec<Vec<String>> = plan.steps.iter().map(row).collect();
        writeln!(out, "{}", table::text(&["NODE", "FROM", "TO", "INSTALLER", "MEANWHILE"], &rows))?;
    }
    for step in &plan.steps {
        if let Some(other) = &step.other {
            writeln!(out, "{}: {other}", step.node)?;
        }
    }
    for node in &plan.uncordon {
        writeln!(out, "{node} runs what it shall, and is uncordoned: an upgrade was broken off")?;
    }
    if !plan.done.is_empty() && !plan.steps.is_empty() {
        style::say(&format!("{} run what the file says and are left alone", plan.done.join(", ")));
    }
    Ok(())
}

fn row(step: &Step) -> Vec<String> {
    let meanwhile = match step.absence {
        Absence::Outage => "etcd and the API stand still",
        Absence::Spared | Absence::None => "",
    };
    let to = match &step.other {
        Some(_) => "another image".to_owned(),
        None => step.to.to_string(),
    };
    let words = [&step.node, &step.from.to_string(), &to, &step.image];
    words.into_iter().cloned().chain([meanwhile.to_owned()]).collect()
}

fn step(step: &Step) -> Value {
    json!({
        "node": step.node,
        "from": step.from.to_string(),
        "to": step.to.to_string(),
        "installer": step.image,
        "other": step.other,
        "way": match step.way { Way::Whole => "legacy", Way::Parts => "lifecycle" },
        "outage": step.absence == Absence::Outage,
    })
}

/// An event before anything is under way.
fn event(name: &str, more: Value) {
    Teller::new(true).event(name, more, None);
}

/// Says everything that is in the way.
pub(super) fn refused(
    obstacles: &[Issue],
    etcd: Option<CrewError>,
    as_json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if as_json {
        let all: Vec<Value> =
            obstacles.iter().map(|it| report::issue_json(it, IssueKeys::IN_THE_WAY)).collect();
        event("refused", json!({"obstacles": all, "etcd": etcd.map(|error| error.to_string())}));
        return Ok(());
    }
    for obstacle in obstacles {
        writeln!(out, "{}", report::line(obstacle))?;
    }
    if let Some(why) = etcd {
        style::say(&format!("what control planes say of etcd: {why}"));
    }
    style::say("nothing was done");
    Ok(())
}

/// Says how it ended.
pub(super) fn end(teller: &Teller, ended: Result<usize, Stopped>) -> ExitCode {
    let (more, line, code) = match ended {
        Ok(count) => {
            let line = format!("{count} upgraded, and the cluster is well");
            (json!({"ok": true, "upgraded": count}), line, ExitCode::SUCCESS)
        }
        Err(Stopped { node, step, why, left }) => {
            let rest = if left.is_empty() {
                String::new()
            } else {
                format!("; {} were left alone", left.join(", "))
            };
            let line = format!(
                "stopped at {node}: {step}: {why}{rest}. Run the same again when it is set right: what is done stays done"
            );
            let more = json!({"ok": false, "node": node, "step": step, "reason": why, "left": left});
            (more, line, ExitCode::FAILURE)
        }
    };
    teller.event("end", more, Some(line));
    code
}
