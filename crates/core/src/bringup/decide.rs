//! Decides the next steps.

use super::blocker::Blocker;
use super::desired::{DesiredNode, DesiredState};
use super::identity::IdentityMatch;
use super::observed::{
    ClusterMember, ConfigState, EtcdPhase, NodeProbe, ObservedNode, ObservedState, ObservedVm,
};
use super::record::BringupRecord;
use crate::cluster::section::Role;
use ichor_talos::api::machine::Stage as MachineStage;

/// The number of attempts to apply the first configuration in one run.
const MAX_ATTEMPTS: u8 = 3;

/// The next step of a node or of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep<S> {
    /// Run this step now.
    Do(S),
    /// Wait for this.
    Wait(WaitReason),
    /// All steps are complete.
    Done,
    /// Blocked for this reason.
    Refused(Blocker),
}

impl<S> NextStep<S> {
    /// Whether no further step follows.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Refused(_))
    }

    fn wait(reason: impl Into<String>) -> Self {
        Self::Wait(WaitReason { reason: reason.into(), on_others: false })
    }

    fn wait_for_others(reason: impl Into<String>) -> Self {
        Self::Wait(WaitReason { reason: reason.into(), on_others: true })
    }
}

/// The reason for waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitReason {
    /// The awaited event.
    pub reason: String,
    /// Whether other nodes must act first, so that the node's timeout does not run.
    pub on_others: bool,
}

/// A step of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStep {
    /// Create its machine.
    Make,
    /// Insert its boot media.
    Attach,
    /// Power it on.
    Start,
    /// Apply the first configuration.
    Apply,
    /// Update the configuration of a running node.
    Reconfigure,
    /// Eject its boot media.
    Eject,
}

/// A step of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterStep {
    /// Bootstrap etcd on this node.
    Bootstrap(usize),
    /// Wait until the Kubernetes API answers at the endpoint.
    Endpoint,
    /// Let this control plane check the cluster's health.
    Health(usize),
    /// Fetch the kubeconfig from this control plane.
    Kubeconfig(usize),
}

impl ClusterStep {
    /// The node that runs the step, if any.
    pub fn node(self) -> Option<usize> {
        match self {
            Self::Bootstrap(nth) | Self::Health(nth) | Self::Kubeconfig(nth) => Some(nth),
            Self::Endpoint => None,
        }
    }
}

/// The next steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BringupDecision {
    /// By node, as in [`DesiredState`].
    pub nodes: Vec<NextStep<NodeStep>>,
    /// For the cluster.
    pub cluster: NextStep<ClusterStep>,
}

impl BringupDecision {
    /// Whether no further step follows.
    pub fn is_over(&self) -> bool {
        self.cluster.is_over() && self.nodes.iter().all(NextStep::is_over)
    }
}

/// Decides the next step of every node and of the cluster.
pub fn decide(wanted: &DesiredState, seen: &ObservedState, record: &BringupRecord) -> BringupDecision {
    let mut nodes: Vec<_> =
        wanted.nodes.iter().zip(&seen.nodes).map(|(node, seen)| next_node_step(node, seen, record)).collect();
    limit_concurrency(wanted, seen, &mut nodes);
    let cluster = next_cluster_step(wanted, seen, record, &nodes);
    if let NextStep::Refused(blocker) = &cluster {
        for (next, seen) in nodes.iter_mut().zip(&seen.nodes) {
            if matches!(next, NextStep::Wait(_))
                && !seen.busy
                && matches!(seen.look, Some(NodeProbe::Ours(_)))
            {
                let reason = "the node is configured, but the cluster did not come up";
                *next = NextStep::Refused(Blocker::new(seen.at, reason, blocker.remedy()));
            }
        }
    }
    // Media are ejected once the cluster is healthy, or if it is blocked.
    let is_settled = seen.cluster.healthy || matches!(cluster, NextStep::Refused(_));
    for ((next, node), seen) in nodes.iter_mut().zip(&wanted.nodes).zip(&seen.nodes) {
        let media = seen.machine.is_some() && record.has_media(&node.name);
        if *next == NextStep::Done && node.chosen && media {
            *next = match (is_settled, seen.busy) {
                (true, false) => NextStep::Do(NodeStep::Eject),
                _ => NextStep::wait_for_others("the cluster, before its boot media are ejected"),
            };
        }
    }
    BringupDecision { nodes, cluster }
}

/// The next step of a node, regardless of other nodes.
fn next_node_step(node: &DesiredNode, seen: &ObservedNode, record: &BringupRecord) -> NextStep<NodeStep> {
    if !node.chosen {
        return NextStep::Done;
    }
    if let Some(blocker) = &seen.failed {
        return NextStep::Refused(blocker.clone());
    }
    if seen.busy {
        return NextStep::wait("the step in progress");
    }
    match &seen.look {
        None => NextStep::wait("the first probe"),
        Some(NodeProbe::Silent) => handle_silent(seen, record.has_first_config(&node.name)),
        Some(NodeProbe::Maintenance(facts)) => match node.identity.match_unconfigured(facts) {
            IdentityMatch::Same => handle_maintenance(seen),
            IdentityMatch::Other(reason) => NextStep::Refused(Blocker::new(
                seen.at,
                format!("the machine is not {}: {reason}", node.name),
                "boot the right machine, or write this machine's MAC addresses into `macs` of the node",
            )),
            IdentityMatch::Unknown(reason) => NextStep::Refused(Blocker::new(
                seen.at,
                format!("cannot identify the machine as {}: {reason}", node.name),
                format!(
                    "write its MAC addresses into `macs` of the node, or pass the fingerprint that its console shows with \
                     `--fingerprint {}=…`",
                    node.name
                ),
            )),
        },
        Some(NodeProbe::Foreign(whose)) => NextStep::Refused(Blocker::new(
            seen.at,
            format!("the machine has the configuration of another cluster: {whose}"),
            "ichor resets nothing automatically: if the machine should become this node, reset it (`talosctl reset`, with the \
             talosconfig of its own cluster), or boot it with its disk wiped",
        )),
        Some(NodeProbe::Unclear(reason)) => NextStep::wait(reason),
        Some(NodeProbe::Ours(ours)) => handle_member(node, seen, ours, record.is_bootstrapped()),
    }
}

/// A machine that does not answer. `began` if a configuration was applied before, so that it boots from its disk.
fn handle_silent(seen: &ObservedNode, began: bool) -> NextStep<NodeStep> {
    match seen.machine {
        Some(ObservedVm { made: false, .. }) => NextStep::Do(NodeStep::Make),
        Some(ObservedVm { on: false, takes_media: true, .. }) if !seen.attached && !began => {
            NextStep::Do(NodeStep::Attach)
        }
        Some(ObservedVm { on: false, .. }) => NextStep::Do(NodeStep::Start),
        _ if seen.applied > 0 => NextStep::wait("the machine to boot the installed system"),
        _ => NextStep::wait("the machine to answer"),
    }
}

fn handle_maintenance(seen: &ObservedNode) -> NextStep<NodeStep> {
    match seen.applied {
        0 => NextStep::Do(NodeStep::Apply),
        _ if !seen.left => NextStep::wait("the installation to finish"),
        attempts if attempts < MAX_ATTEMPTS => NextStep::Do(NodeStep::Apply),
        attempts => NextStep::Refused(Blocker::new(
            seen.at,
            format!("the machine returned to maintenance mode after {attempts} attempts to install it"),
            "read its console: often the disk of `install.disk` does not exist, or the installer image cannot be pulled",
        )),
    }
}

fn handle_member(
    node: &DesiredNode,
    seen: &ObservedNode,
    ours: &ClusterMember,
    bootstrapped: bool,
) -> NextStep<NodeStep> {
    match node.identity.match_member(&ours.facts, &node.name) {
        IdentityMatch::Same => {}
        IdentityMatch::Unknown(reason) => return NextStep::wait(reason),
        IdentityMatch::Other(reason) => {
            return NextStep::Refused(Blocker::new(
                seen.at,
                format!("the machine belongs to this cluster, but is not {}: {reason}", node.name),
                "set the node's own address and the MAC addresses of its own machine in the cluster file",
            ));
        }
    }
    match &ours.config {
        ConfigState::Unknown => return NextStep::wait("the machine to report its configuration"),
        ConfigState::Differs { role: Some(role), .. } if *role != node.role => {
            return NextStep::Refused(Blocker::new(
                seen.at,
                format!(
                    "the node is installed as a {}, but the cluster file makes it a {}",
                    role_name(*role),
                    role_name(node.role)
                ),
                "reset the node first, or restore its role in the cluster file: an installed node cannot change its role",
            ));
        }
        ConfigState::Differs { .. } if !seen.reconfigured => return NextStep::Do(NodeStep::Reconfigure),
        ConfigState::Differs { .. } | ConfigState::Same => {}
    }
    match ours.stage {
        // Talos 1.14 reaches this stage before etcd runs, and the bootstrap restarts etcd.
        MachineStage::Running
            if bootstrapped && node.role == Role::Controlplane && ours.etcd != EtcdPhase::Runs =>
        {
            NextStep::wait("etcd to run")
        }
        MachineStage::Running => NextStep::Done,
        MachineStage::Installing => NextStep::wait("the installation to finish"),
        // Without a cluster, no step on the node itself can make it run.
        _ if !bootstrapped => NextStep::wait_for_others("etcd"),
        _ if ours.etcd == EtcdPhase::Waiting => NextStep::wait("etcd to join the other members"),
        _ if ours.unmet.is_empty() => NextStep::wait("the node to reach stage running"),
        _ => NextStep::wait(ours.unmet.join("; ")),
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Controlplane => "control plane",
        Role::Worker => "worker",
    }
}

/// Limits the number of nodes that are changed at once. Control planes start in order and are reconfigured one at a time.
fn limit_concurrency(wanted: &DesiredState, seen: &ObservedState, nodes: &mut [NextStep<NodeStep>]) {
    let mut room = wanted.at_once.saturating_sub(
        wanted.nodes.iter().zip(&seen.nodes).filter(|(node, seen)| node.chosen && is_in_work(seen)).count(),
    );
    let mut earlier: Option<usize> = None;
    for nth in wanted.order() {
        let node = &wanted.nodes[nth];
        let control_plane = node.role == Role::Controlplane;
        if let NextStep::Do(step) = nodes[nth] {
            let begun = is_begun(&seen.nodes[nth]);
            let hold_reason = match (step, earlier) {
                (NodeStep::Apply, Some(earlier)) if control_plane => {
                    Some(format!("{}, which comes first", wanted.nodes[earlier].name))
                }
                (NodeStep::Reconfigure, _) if control_plane => {
                    other_control_plane_in_work(wanted, seen, nodes, nth)
                }
                _ => None,
            };
            if let Some(reason) = hold_reason {
                nodes[nth] = NextStep::wait_for_others(reason);
            } else if !begun {
                if room == 0 {
                    nodes[nth] =
                        NextStep::wait_for_others(format!("other nodes, {} at a time", wanted.at_once));
                } else {
                    room -= 1;
                }
            }
        }
        let is_configured = matches!(nodes[nth], NextStep::Done)
            || has_configuration(&seen.nodes[nth])
            || nodes[nth].is_over();
        if control_plane && !is_configured && earlier.is_none() {
            earlier = Some(nth);
        }
    }
}

/// Whether a control plane has its configuration, so that the next one may start.
fn has_configuration(seen: &ObservedNode) -> bool {
    seen.applied > 0 && !seen.busy || matches!(seen.look, Some(NodeProbe::Ours(_)))
}

/// Whether a node is being changed.
fn is_in_work(seen: &ObservedNode) -> bool {
    seen.failed.is_none() && (seen.busy || is_begun(seen))
}

/// Whether a node got its configuration in this run and has not returned with it.
fn is_begun(seen: &ObservedNode) -> bool {
    let back = match &seen.look {
        Some(NodeProbe::Ours(ours)) => {
            !matches!(ours.stage, MachineStage::Installing | MachineStage::Rebooting)
        }
        _ => false,
    };
    (seen.applied > 0 || seen.reconfigured) && !back
}

/// Another control plane that is being changed or is not running, so that this one must wait.
fn other_control_plane_in_work(
    wanted: &DesiredState,
    seen: &ObservedState,
    nodes: &[NextStep<NodeStep>],
    nth: usize,
) -> Option<String> {
    let is_in_transition = |other: &usize| {
        let seen = &seen.nodes[*other];
        let is_down = matches!(&seen.look, Some(NodeProbe::Ours(ours)) if ours.stage != MachineStage::Running && ours.etcd != EtcdPhase::Waiting);
        *other != nth
            && (is_in_work(seen)
                || is_down
                || (*other < nth && nodes[*other] == NextStep::Do(NodeStep::Reconfigure)))
    };
    let other = wanted.control_planes().find(is_in_transition)?;
    Some(format!("{}: one control plane at a time", wanted.nodes[other].name))
}

/// The next step of the cluster.
fn next_cluster_step(
    wanted: &DesiredState,
    seen: &ObservedState,
    record: &BringupRecord,
    nodes: &[NextStep<NodeStep>],
) -> NextStep<ClusterStep> {
    if let Some(blocker) = &seen.cluster.failed {
        return NextStep::Refused(blocker.clone());
    }
    if seen.cluster.busy {
        return NextStep::wait("the step in progress");
    }
    let runs = |nth: &usize| matches!(&seen.nodes[*nth].look, Some(NodeProbe::Ours(ours)) if ours.etcd == EtcdPhase::Runs);
    let Some(member) = wanted.control_planes().find(runs) else {
        return if record.is_bootstrapped() {
            if wanted.control_planes().any(|nth| !nodes[nth].is_over()) {
                return NextStep::wait("etcd");
            }
            NextStep::Refused(Blocker::new(
                None,
                "etcd was bootstrapped before, but no control plane runs it now",
                "restore a control plane that has its data, or recover etcd from a snapshot (`talosctl bootstrap \
                 --recover-from`); ichor does not bootstrap it a second time",
            ))
        } else {
            next_bootstrap_step(wanted, seen, record, nodes)
        };
    };
    if !seen.cluster.endpoint {
        return NextStep::Do(ClusterStep::Endpoint);
    }
    if !seen.cluster.healthy {
        return match wanted.order().into_iter().find(|nth| !nodes[*nth].is_over()) {
            Some(waits) => NextStep::wait(format!("{}, before health is checked", wanted.nodes[waits].name)),
            None => NextStep::Do(ClusterStep::Health(member)),
        };
    }
    if !seen.cluster.kubeconfig {
        return NextStep::Do(ClusterStep::Kubeconfig(member));
    }
    NextStep::Done
}

/// Whether etcd can be bootstrapped: on the node in the file, or the one on which it was started, and only if no other control
/// plane can have data of etcd.
fn next_bootstrap_step(
    wanted: &DesiredState,
    seen: &ObservedState,
    record: &BringupRecord,
    nodes: &[NextStep<NodeStep>],
) -> NextStep<ClusterStep> {
    let nth = match &record.bootstrap {
        None => wanted.bootstrap,
        Some(begun) => match wanted.control_planes().find(|nth| wanted.nodes[*nth].name == begun.node) {
            Some(nth) => nth,
            None => {
                return NextStep::Refused(Blocker::new(
                    None,
                    format!(
                        "the bootstrap of etcd was started on {}, which is no longer a control plane of the cluster file",
                        begun.node
                    ),
                    format!(
                        "restore {} in the cluster file: the bootstrap node cannot change after the first run",
                        begun.node
                    ),
                ));
            }
        },
    };
    let node = &wanted.nodes[nth];
    if let NextStep::Refused(blocker) = &nodes[nth] {
        return NextStep::Refused(blocker.clone());
    }
    if !node.chosen {
        return NextStep::Refused(Blocker::new(
            None,
            format!("etcd is not bootstrapped, and its bootstrap node {} is not selected", node.name),
            format!("select it with `--only {}`", node.name),
        ));
    }
    for other in wanted.control_planes().filter(|other| *other != nth) {
        if let Some(reason) = may_have_etcd(wanted, seen, record, nth, other) {
            return match &nodes[other] {
                NextStep::Refused(blocker) => NextStep::Refused(blocker.clone()),
                _ => NextStep::wait(reason),
            };
        }
    }
    match &seen.nodes[nth].look {
        Some(NodeProbe::Ours(ours))
            if ours.etcd == EtcdPhase::Waiting
                && !seen.nodes[nth].busy
                && matches!(ours.stage, MachineStage::Booting | MachineStage::Running)
                && matches!(node.identity.match_member(&ours.facts, &node.name), IdentityMatch::Same)
                && (ours.config == ConfigState::Same || seen.nodes[nth].reconfigured) =>
        {
            NextStep::Do(ClusterStep::Bootstrap(nth))
        }
        _ => NextStep::wait(format!("{} to be ready for the bootstrap of etcd", node.name)),
    }
}

/// Why another control plane may have data of etcd. Bootstrapping would then create a second cluster.
fn may_have_etcd(
    wanted: &DesiredState,
    seen: &ObservedState,
    record: &BringupRecord,
    nth: usize,
    other: usize,
) -> Option<String> {
    let name = &wanted.nodes[other].name;
    let began = record.has_first_config(name);
    match &seen.nodes[other].look {
        Some(NodeProbe::Maintenance(_)) => None,
        _ if began => None,
        // Both were configured outside ichor. Talos itself does not bootstrap over existing data.
        Some(NodeProbe::Ours(ours))
            if ours.etcd == EtcdPhase::Waiting && !record.has_first_config(&wanted.nodes[nth].name) =>
        {
            None
        }
        Some(NodeProbe::Ours(_)) => {
            Some(format!("{name}, which was configured before and may have etcd data"))
        }
        _ => Some(format!("{name} to answer once: it may run etcd")),
    }
}
