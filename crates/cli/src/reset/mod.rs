//! Resets nodes and removes them from etcd and Kubernetes.
//!
//! [`observe_nodes`] queries nodes and etcd, core's [`plan`](ichor_core::reset::plan) decides the order and checks quorum, and
//! [`reset_nodes`] runs it. It can be repeated at any time: a machine that was reset already is only removed from etcd and
//! Kubernetes.

mod sequence;

use std::time::Duration;

use futures_util::future::join_all;
use ichor_core::cluster::section::{BootDevice, BootFrom};
use ichor_core::etcd::EtcdCluster;
use ichor_core::plan::{NodePlan, VmPlan};
use ichor_core::reset::{ResetPermissions, ResetTarget, TargetState, Wipe};

use crate::cluster_client::{ClusterClient, ClusterError, NodeLookup};
use crate::connect::ConnectOptions;

pub(crate) use sequence::{ResetFailure, ResetMode, powers_off, reset_node, reset_nodes};

/// Options of `ichor reset`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ResetOptions<'o> {
    pub way: &'o ConnectOptions,
    pub nodes: &'o [String],
    pub wipe: Wipe,
    pub allowed: ResetPermissions,
    /// Power machines off instead of rebooting them.
    pub power_off: bool,
    pub dry_run: bool,
    pub json: bool,
    pub yes: bool,
    /// Time limit per machine.
    pub timeout: Duration,
}

/// Queries the state of nodes and of etcd.
pub(crate) async fn observe_nodes(
    client: &ClusterClient<'_>,
    nodes: &[&NodePlan],
) -> (Vec<ResetTarget>, Result<EtcdCluster, ClusterError>) {
    let lookups = join_all(nodes.iter().map(|node| client.locate(node)));
    let (observed, etcd) = tokio::join!(lookups, client.etcd());
    let subject = |(node, observed): (&&NodePlan, NodeLookup)| ResetTarget {
        name: node.name.to_string(),
        role: node.role,
        seen: match observed {
            NodeLookup::Node(_) => TargetState::Runs,
            NodeLookup::Maintenance(_) => TargetState::Maintenance,
            NodeLookup::Unreachable(why) => TargetState::Silent(why),
        },
        boots_without_disk: boots_without_disk(node),
    };
    (nodes.iter().zip(observed).map(subject).collect(), etcd)
}

/// Whether a machine can boot from another device once its disk is empty, according to the file.
fn boots_without_disk(node: &NodePlan) -> bool {
    // An ISO does not count: it is ejected once Talos is installed.
    let by_network = |vm: &VmPlan| vm.boot.value.contains(&BootDevice::Net);
    node.boot.from.value == BootFrom::Netboot || node.vm.as_deref().is_some_and(by_network)
}
