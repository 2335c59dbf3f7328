//! Nodes that are told to forget what they are, and a cluster that forgets them.
//!
//! Core's [`plan`] decides who goes in which order and what etcd says to it; `told` says it, and `walk` does it. It may be done again
//! at any time: a machine that has forgotten already is only taken out of etcd and Kubernetes.

mod told;
mod walk;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use futures_util::future::join_all;
use ichor_core::cluster::section::{BootDevice, BootFrom};
use ichor_core::etcd::Etcd;
use ichor_core::plan::{NodePlan, VmPlan};
use ichor_core::reset::{Allowed, Seen, Subject, Wipe, plan};

use crate::consent::consents;
use crate::crew::{Answers, Crew};
use crate::project::Project;
use crate::reach::{self, Way};
use crate::style;
use crate::up::Teller;

pub(crate) use walk::{How, forget};

/// What is ordered.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Order<'o> {
    pub way: &'o Way,
    pub nodes: &'o [String],
    pub wipe: Wipe,
    pub allowed: Allowed,
    /// Switch machines off in the place of starting them again.
    pub power_off: bool,
    pub dry_run: bool,
    pub json: bool,
    pub yes: bool,
    /// How long a machine may take.
    pub timeout: Duration,
}

/// Resets nodes, or says what that would do.
pub(crate) fn reset(project: &Project, order: &Order<'_>, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let nodes = order.nodes.iter().map(|name| project.node(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let (crew, _) = Crew::open(project, order.way)?;
    let runtime = reach::runtime()?;
    let (subjects, etcd) = runtime.block_on(look(&crew, &nodes));
    let steps = match plan(&subjects, etcd.as_ref().ok(), order.wipe, order.allowed) {
        Ok(steps) => steps,
        Err(obstacles) => {
            told::refused(&obstacles, order.json, out)?;
            return Ok(ExitCode::FAILURE);
        }
    };
    told::plan(&steps, order, out)?;
    if order.dry_run {
        return Ok(ExitCode::FAILURE);
    }
    let names = steps.iter().map(|step| step.node.as_str()).collect::<Vec<_>>().join(" ");
    if !consents("This cannot be undone.", &names, order.yes)? {
        style::say("nothing was done");
        return Ok(ExitCode::FAILURE);
    }
    let teller = Teller::new(order.json);
    let ended = runtime.block_on(walk::walk(&crew, &subjects, &steps, order, &teller));
    Ok(told::end(&teller, ended))
}

async fn look(crew: &Crew<'_>, nodes: &[&NodePlan]) -> (Vec<Subject>, Result<Etcd, String>) {
    let looks = join_all(nodes.iter().map(|node| crew.look(node)));
    let (seen, etcd) = tokio::join!(looks, crew.etcd());
    let subject = |(node, seen): (&&NodePlan, Answers)| Subject {
        name: node.name.to_string(),
        role: node.role,
        seen: match seen {
            Answers::Node(_) => Seen::Runs,
            Answers::Maintenance(_) => Seen::Maintenance,
            Answers::Nobody(why) => Seen::Silent(why),
        },
        boots_without_disk: boots_without_disk(node),
    };
    (nodes.iter().zip(seen).map(subject).collect(), etcd)
}

/// Whether the file says that a machine boots from something else once its disk is empty.
fn boots_without_disk(node: &NodePlan) -> bool {
    // A CD does not count: it is taken out once Talos is installed.
    let by_network = |vm: &VmPlan| vm.boot.value.contains(&BootDevice::Net);
    node.boot.from.value == BootFrom::Netboot || node.vm.as_deref().is_some_and(by_network)
}
