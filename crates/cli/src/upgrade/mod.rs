//! The way from the releases that nodes run to those of the file.
//!
//! `look` finds out what every node runs, core's [`plan`] decides, `told` says it, and `walk` goes from node to node and stops at the
//! first that is not well. Nothing is recorded: what was done is seen in the cluster.

mod look;
mod told;
mod walk;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use ichor_core::upgrade::{Plan, plan};

use crate::configuration::configurations;
use crate::consent::consents;
use crate::crew::Crew;
use crate::project::Project;
use crate::reach::{self, Way};
use crate::up::Teller;
use crate::{report, style};

/// What is ordered.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Order<'o> {
    pub way: &'o Way,
    pub only: &'o [String],
    pub dry_run: bool,
    pub json: bool,
    pub yes: bool,
    pub outage: bool,
    /// How long a node may take to come back, and a cluster to be well.
    pub timeout: Duration,
    /// How long pods may take to leave.
    pub drain_timeout: Duration,
}

/// Upgrades the nodes of a cluster, or says what that would take.
pub(crate) fn upgrade(project: &Project, order: &Order<'_>, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    for name in order.only {
        project.node(name)?;
    }
    let (crew, bundle) = Crew::open(project, order.way)?;
    let nodes: Vec<_> = project.plan.nodes.iter().collect();
    let configs = match configurations(project, &nodes, &bundle, order.way.identity.as_deref())? {
        Ok(configs) => configs,
        Err(errors) => {
            report::unrendered(out, &errors)?;
            style::say("nothing was done");
            return Ok(ExitCode::FAILURE);
        }
    };
    let runtime = reach::runtime()?;
    let (candidates, etcd) = runtime.block_on(look::look(&crew, &nodes, &configs, order.only));
    let plan = match plan(&candidates, etcd.as_ref().ok(), order.outage) {
        Ok(plan) => plan,
        Err(obstacles) => {
            told::refused(&obstacles, etcd.err(), order.json, out)?;
            return Ok(ExitCode::FAILURE);
        }
    };
    told::plan(&plan, order.json, out)?;
    if order.dry_run {
        if plan.is_empty() && !order.json {
            style::say("nothing is to be done: every node runs what the file says");
        }
        return Ok(ExitCode::from(u8::from(!plan.is_empty())));
    }
    if plan.is_empty() {
        style::say("every node runs what the file says; nothing was to be done");
        return Ok(ExitCode::SUCCESS);
    }
    if !plan.steps.is_empty() && !consents(&question(&plan), "yes", order.yes)? {
        style::say("nothing was done");
        return Ok(ExitCode::FAILURE);
    }
    let teller = Teller::new(order.json);
    let ended = runtime.block_on(walk::walk(&crew, &plan, order, &teller));
    Ok(told::end(&teller, ended))
}

fn question(plan: &Plan) -> String {
    match plan.steps.as_slice() {
        [one] if one.other.is_some() => format!("{} is given another image and reboots.", one.node),
        [one] => format!("{} is upgraded to {} and reboots.", one.node, one.to),
        steps => format!("These {} nodes are upgraded and reboot, one after the other.", steps.len()),
    }
}
