//! The output of `reset`.

use std::io::{self, Write};
use std::process::ExitCode;

use ichor_core::etcd::RemovalImpact;
use ichor_core::reset::{ResetStep, Wipe};
use ichor_values::Issue;
use serde_json::{Value, json};

use crate::report;
use crate::reset::{ResetFailure, ResetOptions, powers_off};
use crate::style;
use crate::up::Reporter;

/// Prints what will be destroyed, in order.
pub(super) fn print_plan(
    steps: &[ResetStep],
    order: &ResetOptions<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if order.json {
        let all: Vec<Value> = steps.iter().map(|step| step_json(step, order)).collect();
        Reporter::new(true).emit("plan", json!({"nodes": all}), None);
        return Ok(());
    }
    for step in steps {
        writeln!(out, "{}: {}", step.node, describe(step, order))?;
    }
    Ok(())
}

fn step_json(step: &ResetStep, order: &ResetOptions<'_>) -> Value {
    let wipe = match order.wipe {
        Wipe::System => "system",
        Wipe::Disk => "disk",
    };
    json!({
        "node": step.node,
        "wipe": step.reset.then_some(wipe),
        "power_off": step.reset && powers_off(step, order),
        "etcd": match step.departure {
            RemovalImpact::Leaves => "member_removed",
            RemovalImpact::Last => "last_member",
            RemovalImpact::NoMember => "not_a_member",
        },
        "unbootable": step.stranded,
    })
}

/// Describes the reset of a node.
fn describe(step: &ResetStep, order: &ResetOptions<'_>) -> String {
    let mut parts = Vec::new();
    match (step.reset, order.wipe) {
        (true, Wipe::System) => parts.push("wipe its configuration and data"),
        (true, Wipe::Disk) => parts.push("wipe its system disk including Talos"),
        (false, _) => parts.push("leave its machine alone and remove it from the cluster"),
    }
    if step.reset {
        parts.push(if powers_off(step, order) { "power it off" } else { "reboot it into maintenance mode" });
    }
    parts.push(match step.departure {
        RemovalImpact::Leaves => "remove it from etcd",
        RemovalImpact::Last => {
            "destroy etcd: the cluster and all its Kubernetes objects are lost permanently"
        }
        RemovalImpact::NoMember => "not an etcd member",
    });
    if step.stranded {
        parts.push("warning: it has nothing left to boot; provide an ISO or network boot");
    }
    parts.join("; ")
}

/// Prints why the command refuses to start.
pub(super) fn report_refusal(obstacles: &[Issue], as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    if as_json {
        let all: Vec<Value> = obstacles.iter().map(report::issue_json).collect();
        Reporter::new(true).emit("refused", json!({"problems": all}), None);
        return Ok(());
    }
    for obstacle in obstacles {
        writeln!(out, "{}", report::line(obstacle))?;
    }
    style::say("nothing was changed");
    Ok(())
}

/// Prints the result.
pub(super) fn print_end(reporter: &Reporter, ended: Result<usize, ResetFailure>) -> ExitCode {
    match ended {
        Ok(count) => {
            reporter.emit("end", json!({"ok": true, "nodes_reset": count}), None);
            ExitCode::SUCCESS
        }
        Err(ResetFailure { node, why, left }) => {
            let rest =
                if left.is_empty() { String::new() } else { format!("; not reset: {}", left.join(", ")) };
            let line = format!(
                "stopped at {node}: {why}{rest}; fix the cause and run the command again to continue"
            );
            reporter.emit(
                "end",
                json!({"ok": false, "node": node, "message": why, "remaining_nodes": left}),
                Some(line),
            );
            ExitCode::FAILURE
        }
    }
}
