//! Nodes that are told to forget what they are, and a cluster that forgets them.
//!
//! [`look`] finds out how nodes are, core's [`plan`](ichor_core::reset::plan) decides who goes in which order and what etcd says to
//! it, and [`walk()`] does it. It may be done again at any time: a machine that has forgotten already is only taken out of etcd and
//! Kubernetes.

mod walk;

use std::time::Duration;

use futures_util::future::join_all;
use ichor_core::cluster::section::{BootDevice, BootFrom};
use ichor_core::etcd::Etcd;
use ichor_core::plan::{NodePlan, VmPlan};
use ichor_core::reset::{Allowed, Seen, Subject, Wipe};

use crate::crew::{Answers, Crew, CrewError};
use crate::reach::Way;

pub(crate) use walk::{How, Stopped, forget, goes_off, walk};

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

/// Finds out how nodes are, and etcd.
pub(crate) async fn look(crew: &Crew<'_>, nodes: &[&NodePlan]) -> (Vec<Subject>, Result<Etcd, CrewError>) {
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
