//! What is said of a reset.

use std::io::{self, Write};
use std::process::ExitCode;

use ichor_core::etcd::Departure;
use ichor_core::reset::{Step, Wipe};
use ichor_values::Issue;
use serde_json::{Value, json};

use crate::report::{self, IssueKeys};
use crate::reset::{Order, Stopped, goes_off};
use crate::style;
use crate::up::Teller;

/// Says what will be destroyed, in its order.
pub(super) fn plan(steps: &[Step], order: &Order<'_>, out: &mut dyn Write) -> io::Result<()> {
    if order.json {
        let all: Vec<Value> = steps.iter().map(|step| planned(step, order)).collect();
        Teller::new(true).event("plan", json!({"reset": all}), None);
        return Ok(());
    }
    for step in steps {
        writeln!(out, "{}: {}", step.node, words(step, order))?;
    }
    Ok(())
}

fn planned(step: &Step, order: &Order<'_>) -> Value {
    let wipe = match order.wipe {
        Wipe::System => "system",
        Wipe::Disk => "disk",
    };
    json!({
        "node": step.node,
        "wipe": step.reset.then_some(wipe),
        "off": step.reset && goes_off(step, order),
        "etcd": match step.departure {
            Departure::Leaves => "leaves",
            Departure::Last => "ends",
            Departure::NoMember => "no-member",
        },
        "stranded": step.stranded,
    })
}

/// What becomes of a node, for people.
fn words(step: &Step, order: &Order<'_>) -> String {
    let mut parts = Vec::new();
    match (step.reset, order.wipe) {
        (true, Wipe::System) => parts.push("its configuration and all data that Talos keeps are wiped"),
        (true, Wipe::Disk) => parts.push("its whole system disk is wiped, Talos with it"),
        (false, _) => parts.push("its machine is left as it is, and the cluster forgets it"),
    }
    if step.reset {
        parts.push(if goes_off(step, order) {
            "it is switched off"
        } else {
            "it starts again in maintenance mode"
        });
    }
    parts.push(match step.departure {
        Departure::Leaves => "it leaves etcd",
        Departure::Last => {
            "etcd ends with it, and so does the cluster: everything that Kubernetes knows is gone for good"
        }
        Departure::NoMember => "it is no member of etcd",
    });
    if step.stranded {
        parts.push("nothing is left on it to boot: it needs an ISO or a network to boot from");
    }
    parts.join("; ")
}

/// Says everything that is in the way.
pub(super) fn refused(obstacles: &[Issue], as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    if as_json {
        let all: Vec<Value> =
            obstacles.iter().map(|it| report::issue_json(it, IssueKeys::IN_THE_WAY)).collect();
        Teller::new(true).event("refused", json!({"obstacles": all}), None);
        return Ok(());
    }
    for obstacle in obstacles {
        writeln!(out, "{}", report::line(obstacle))?;
    }
    style::say("nothing was done");
    Ok(())
}

/// Says how it ended.
pub(super) fn end(teller: &Teller, ended: Result<usize, Stopped>) -> ExitCode {
    match ended {
        Ok(count) => {
            teller.event("end", json!({"ok": true, "reset": count}), None);
            ExitCode::SUCCESS
        }
        Err(Stopped { node, why, left }) => {
            let rest = if left.is_empty() {
                String::new()
            } else {
                format!("; {} were left alone", left.join(", "))
            };
            let line = format!(
                "stopped at {node}: {why}{rest}. Run the same again when it is set right: what is done stays done"
            );
            teller.event("end", json!({"ok": false, "node": node, "reason": why, "left": left}), Some(line));
            ExitCode::FAILURE
        }
    }
}
