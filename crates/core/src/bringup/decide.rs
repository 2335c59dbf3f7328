//! What to do next.

use super::blocker::Blocker;
use super::identity::IdentityMatch;
use super::record::BringupRecord;
use super::seen::{
    ClusterMember, ConfigState, EtcdPhase, NodeProbe, ObservedNode, ObservedState, ObservedVm,
};
use super::wanted::{DesiredNode, DesiredState};
use crate::cluster::section::Role;
use ichor_talos::api::machine::Stage as MachineStage;

/// How often a machine is given its first configuration in one run.
const TRIES: u8 = 3;

/// What comes next, for one node or the cluster as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep<S> {
    /// This is to be done now.
    Do(S),
    /// Nothing now: this is waited for.
    Wait(WaitReason),
    /// Nothing any more.
    Done,
    /// Nothing, for this reason.
    Refused(Blocker),
}

impl<S> NextStep<S> {
    /// Whether nothing will come any more.
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

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitReason {
    /// What.
    pub reason: String,
    /// Whether it is the turn of others, so that the time is not the node's own.
    pub on_others: bool,
}

/// What is done with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStep {
    /// Make its machine.
    Make,
    /// Put its boot media in.
    Attach,
    /// Switch it on.
    Start,
    /// Give a machine without a configuration its own.
    Apply,
    /// Give a running node the configuration that is wanted now.
    Reconfigure,
    /// Take its boot media out.
    Eject,
}

/// What is done with the cluster as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterStep {
    /// Bootstrap etcd, on this node.
    Bootstrap(usize),
    /// Wait until the Kubernetes API answers at the endpoint.
    Endpoint,
    /// Let this control plane check the cluster's health.
    Health(usize),
    /// Fetch the kubeconfig from this control plane.
    Kubeconfig(usize),
}

impl ClusterStep {
    /// The node that is asked for it, where it is one.
    pub fn node(self) -> Option<usize> {
        match self {
            Self::Bootstrap(nth) | Self::Health(nth) | Self::Kubeconfig(nth) => Some(nth),
            Self::Endpoint => None,
        }
    }
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BringupDecision {
    /// For each node, as in [`DesiredState`].
    pub nodes: Vec<NextStep<NodeStep>>,
    /// For the cluster as a whole.
    pub cluster: NextStep<ClusterStep>,
}

impl BringupDecision {
    /// Whether nothing will come any more.
    pub fn is_over(&self) -> bool {
        self.cluster.is_over() && self.nodes.iter().all(NextStep::is_over)
    }
}

/// Says what every node and the cluster as a whole needs next.
pub fn decide(wanted: &DesiredState, seen: &ObservedState, record: &BringupRecord) -> BringupDecision {
    let mut nodes: Vec<_> =
        wanted.nodes.iter().zip(&seen.nodes).map(|(node, seen)| of_node(node, seen, record)).collect();
    in_order(wanted, seen, &mut nodes);
    let cluster = of_cluster(wanted, seen, record, &nodes);
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
    // Media are taken out when the cluster stands, or when the rest of it never will.
    let stands = seen.cluster.healthy || matches!(cluster, NextStep::Refused(_));
    for ((next, node), seen) in nodes.iter_mut().zip(&wanted.nodes).zip(&seen.nodes) {
        let media = seen.machine.is_some() && record.has_media(&node.name);
        if *next == NextStep::Done && node.chosen && media {
            *next = match (stands, seen.busy) {
                (true, false) => NextStep::Do(NodeStep::Eject),
                _ => NextStep::wait_for_others("the cluster, before its boot media are ejected"),
            };
        }
    }
    BringupDecision { nodes, cluster }
}

/// What a node needs, were it alone.
fn of_node(node: &DesiredNode, seen: &ObservedNode, record: &BringupRecord) -> NextStep<NodeStep> {
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
        Some(NodeProbe::Silent) => of_silent(seen, record.began(&node.name)),
        Some(NodeProbe::Maintenance(facts)) => match node.identity.judge(facts) {
            IdentityMatch::Same => of_maintenance(seen),
            IdentityMatch::Other(reason) => NextStep::Refused(Blocker::new(
                seen.at,
                format!("the machine is not {}: {reason}", node.name),
                "boot the right machine, or write this machine's MAC addresses into `macs` of the node",
            )),
            IdentityMatch::Unknown(reason) => NextStep::Refused(Blocker::new(
                seen.at,
                format!("cannot tell whether the machine is {}: {reason}", node.name),
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
        Some(NodeProbe::Ours(ours)) => of_ours(node, seen, ours, record.is_bootstrapped()),
    }
}

/// A machine that nobody hears; `began` if it was given a configuration before, and so boots from its disk.
fn of_silent(seen: &ObservedNode, began: bool) -> NextStep<NodeStep> {
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

fn of_maintenance(seen: &ObservedNode) -> NextStep<NodeStep> {
    match seen.applied {
        0 => NextStep::Do(NodeStep::Apply),
        _ if !seen.left => NextStep::wait("the installation to finish"),
        tries if tries < TRIES => NextStep::Do(NodeStep::Apply),
        tries => NextStep::Refused(Blocker::new(
            seen.at,
            format!("the machine returned to maintenance mode after {tries} attempts to install it"),
            "read its console: often the disk of `install.disk` does not exist, or the installer image cannot be pulled",
        )),
    }
}

fn of_ours(
    node: &DesiredNode,
    seen: &ObservedNode,
    ours: &ClusterMember,
    bootstrapped: bool,
) -> NextStep<NodeStep> {
    match node.identity.judge_ours(&ours.facts, &node.name) {
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
                    word(*role),
                    word(node.role)
                ),
                "reset the node first, or restore its role in the cluster file: an installed node cannot change its role",
            ));
        }
        ConfigState::Differs { .. } if !seen.reconfigured => return NextStep::Do(NodeStep::Reconfigure),
        ConfigState::Differs { .. } | ConfigState::Same => {}
    }
    match ours.stage {
        MachineStage::Running => NextStep::Done,
        MachineStage::Installing => NextStep::wait("the installation to finish"),
        // Before there is a cluster, nothing on the node itself can make it run.
        _ if !bootstrapped => NextStep::wait_for_others("etcd"),
        _ if ours.etcd == EtcdPhase::Waiting => NextStep::wait("etcd to join the other members"),
        _ if ours.unmet.is_empty() => NextStep::wait("the node to reach stage running"),
        _ => NextStep::wait(ours.unmet.join("; ")),
    }
}

fn word(role: Role) -> &'static str {
    match role {
        Role::Controlplane => "control plane",
        Role::Worker => "worker",
    }
}

/// Lets only so many nodes begin as may be changed at once, control planes in their order and running ones one by one.
fn in_order(wanted: &DesiredState, seen: &ObservedState, nodes: &mut [NextStep<NodeStep>]) {
    let mut room = wanted.at_once.saturating_sub(
        wanted.nodes.iter().zip(&seen.nodes).filter(|(node, seen)| node.chosen && is_in_work(seen)).count(),
    );
    let mut earlier: Option<usize> = None;
    for nth in wanted.order() {
        let node = &wanted.nodes[nth];
        let control_plane = node.role == Role::Controlplane;
        if let NextStep::Do(step) = nodes[nth] {
            let begun = is_begun(&seen.nodes[nth]);
            let held = match (step, earlier) {
                (NodeStep::Apply, Some(earlier)) if control_plane => {
                    Some(format!("{}, which comes first", wanted.nodes[earlier].name))
                }
                (NodeStep::Reconfigure, _) if control_plane => others_moving(wanted, seen, nodes, nth),
                _ => None,
            };
            if let Some(reason) = held {
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
        let given =
            matches!(nodes[nth], NextStep::Done) || is_given(&seen.nodes[nth]) || nodes[nth].is_over();
        if control_plane && !given && earlier.is_none() {
            earlier = Some(nth);
        }
    }
}

/// Whether a control plane has its configuration, so that the next may have its own.
fn is_given(seen: &ObservedNode) -> bool {
    seen.applied > 0 && !seen.busy || matches!(seen.look, Some(NodeProbe::Ours(_)))
}

/// Whether a node is being changed, by us or by what we did.
fn is_in_work(seen: &ObservedNode) -> bool {
    seen.failed.is_none() && (seen.busy || is_begun(seen))
}

/// Whether a node was given its configuration in this run and is not yet back with it.
fn is_begun(seen: &ObservedNode) -> bool {
    let back = match &seen.look {
        Some(NodeProbe::Ours(ours)) => {
            !matches!(ours.stage, MachineStage::Installing | MachineStage::Rebooting)
        }
        _ => false,
    };
    (seen.applied > 0 || seen.reconfigured) && !back
}

/// The control plane that is not where it shall be, so that no other may be changed beside it.
fn others_moving(
    wanted: &DesiredState,
    seen: &ObservedState,
    nodes: &[NextStep<NodeStep>],
    nth: usize,
) -> Option<String> {
    let moving = |other: &usize| {
        let seen = &seen.nodes[*other];
        let away = matches!(&seen.look, Some(NodeProbe::Ours(ours)) if ours.stage != MachineStage::Running && ours.etcd != EtcdPhase::Waiting);
        *other != nth
            && (is_in_work(seen)
                || away
                || (*other < nth && nodes[*other] == NextStep::Do(NodeStep::Reconfigure)))
    };
    let other = wanted.control_planes().find(moving)?;
    Some(format!("{}: one control plane at a time", wanted.nodes[other].name))
}

/// What the cluster as a whole needs.
fn of_cluster(
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
            bootstrap(wanted, seen, record, nodes)
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

/// Whether etcd can be bootstrapped: on the node of the file, or the one on which it was begun; and only if no control
/// plane can have data of it.
fn bootstrap(
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
                && matches!(node.identity.judge_ours(&ours.facts, &node.name), IdentityMatch::Same)
                && (ours.config == ConfigState::Same || seen.nodes[nth].reconfigured) =>
        {
            NextStep::Do(ClusterStep::Bootstrap(nth))
        }
        _ => NextStep::wait(format!("{} to be ready for the bootstrap of etcd", node.name)),
    }
}

/// Why a control plane beside the one to bootstrap may have data of etcd: two clusters would come of it.
fn may_have_etcd(
    wanted: &DesiredState,
    seen: &ObservedState,
    record: &BringupRecord,
    nth: usize,
    other: usize,
) -> Option<String> {
    let name = &wanted.nodes[other].name;
    let began = record.began(name);
    match &seen.nodes[other].look {
        Some(NodeProbe::Maintenance(_)) => None,
        _ if began => None,
        // Somebody else gave both of them their configurations. Talos itself bootstraps nothing over data.
        Some(NodeProbe::Ours(ours))
            if ours.etcd == EtcdPhase::Waiting && !record.began(&wanted.nodes[nth].name) =>
        {
            None
        }
        Some(NodeProbe::Ours(_)) => {
            Some(format!("{name}, which was configured before and may have etcd data"))
        }
        _ => Some(format!("{name} to answer once: it may run etcd")),
    }
}
