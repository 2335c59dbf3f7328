//! What to do next.

use super::blocker::Blocker;
use super::identity::Verdict;
use super::record::Record;
use super::seen::{ConfigSeen, Etcd, Look, MachineSeen, NodeSeen, Ours, Seen};
use super::wanted::{Wanted, WantedNode};
use crate::cluster::section::Role;
use ichor_talos::api::machine::Stage as MachineStage;

/// How often a machine is given its first configuration in one run.
const TRIES: u8 = 3;

/// What comes next, for one node or the cluster as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<S> {
    /// This is to be done now.
    Do(S),
    /// Nothing now: this is waited for.
    Wait(Wait),
    /// Nothing any more.
    Done,
    /// Nothing, for this reason.
    Refused(Blocker),
}

impl<S> Next<S> {
    /// Whether nothing will come any more.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Refused(_))
    }

    fn wait(reason: impl Into<String>) -> Self {
        Self::Wait(Wait { reason: reason.into(), on_others: false })
    }

    fn wait_for_others(reason: impl Into<String>) -> Self {
        Self::Wait(Wait { reason: reason.into(), on_others: true })
    }
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
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
pub struct Decision {
    /// For each node, as in [`Wanted`].
    pub nodes: Vec<Next<NodeStep>>,
    /// For the cluster as a whole.
    pub cluster: Next<ClusterStep>,
}

impl Decision {
    /// Whether nothing will come any more.
    pub fn is_over(&self) -> bool {
        self.cluster.is_over() && self.nodes.iter().all(Next::is_over)
    }
}

/// Says what every node and the cluster as a whole needs next.
pub fn decide(wanted: &Wanted, seen: &Seen, record: &Record) -> Decision {
    let mut nodes: Vec<_> =
        wanted.nodes.iter().zip(&seen.nodes).map(|(node, seen)| of_node(node, seen, record)).collect();
    in_order(wanted, seen, &mut nodes);
    let cluster = of_cluster(wanted, seen, record, &nodes);
    if let Next::Refused(blocker) = &cluster {
        for (next, seen) in nodes.iter_mut().zip(&seen.nodes) {
            if matches!(next, Next::Wait(_)) && !seen.busy && matches!(seen.look, Some(Look::Ours(_))) {
                let reason = "it has its configuration and waits for the cluster, which does not come up";
                *next = Next::Refused(Blocker::new(seen.at, reason, blocker.remedy()));
            }
        }
    }
    // Media are taken out when the cluster stands, or when the rest of it never will.
    let stands = seen.cluster.healthy || matches!(cluster, Next::Refused(_));
    for ((next, node), seen) in nodes.iter_mut().zip(&wanted.nodes).zip(&seen.nodes) {
        let media = seen.machine.is_some() && record.has_media(&node.name);
        if *next == Next::Done && node.chosen && media {
            *next = match (stands, seen.busy) {
                (true, false) => Next::Do(NodeStep::Eject),
                _ => Next::wait_for_others("the cluster, before its boot media are taken out"),
            };
        }
    }
    Decision { nodes, cluster }
}

/// What a node needs, were it alone.
fn of_node(node: &WantedNode, seen: &NodeSeen, record: &Record) -> Next<NodeStep> {
    if !node.chosen {
        return Next::Done;
    }
    if let Some(blocker) = &seen.failed {
        return Next::Refused(blocker.clone());
    }
    if seen.busy {
        return Next::wait("the step that is being done");
    }
    match &seen.look {
        None => Next::wait("a first look"),
        Some(Look::Silent) => of_silent(seen, record.began(&node.name)),
        Some(Look::Maintenance(facts)) => match node.identity.judge(facts) {
            Verdict::Same => of_maintenance(seen),
            Verdict::Other(reason) => Next::Refused(Blocker::new(
                seen.at,
                format!("this is not the machine of {}: {reason}", node.name),
                "boot the right machine, or write the addresses of this one's ports into `macs` of the node",
            )),
            Verdict::Unknown(reason) => Next::Refused(Blocker::new(
                seen.at,
                format!("nothing says whether this is the machine of {}: {reason}", node.name),
                format!(
                    "write the addresses of its ports into `macs` of the node, or give the fingerprint its console shows with \
                     `--fingerprint {}=…`",
                    node.name
                ),
            )),
        },
        Some(Look::Foreign(whose)) => Next::Refused(Blocker::new(
            seen.at,
            format!("the machine there has a configuration that is not of this cluster: {whose}"),
            "nothing is reset by itself: if it is meant to be this node, reset it (`talosctl reset`, with the configuration of \
             its own cluster), or boot it with its disk wiped",
        )),
        Some(Look::Unclear(reason)) => Next::wait(reason),
        Some(Look::Ours(ours)) => of_ours(node, seen, ours, record.is_bootstrapped()),
    }
}

/// A machine that nobody hears; `began` if it was given a configuration before, and so boots from its disk.
fn of_silent(seen: &NodeSeen, began: bool) -> Next<NodeStep> {
    match seen.machine {
        Some(MachineSeen { made: false, .. }) => Next::Do(NodeStep::Make),
        Some(MachineSeen { on: false, takes_media: true, .. }) if !seen.attached && !began => {
            Next::Do(NodeStep::Attach)
        }
        Some(MachineSeen { on: false, .. }) => Next::Do(NodeStep::Start),
        _ if seen.applied > 0 => Next::wait("the machine to come back, installed"),
        _ => Next::wait("the machine to answer"),
    }
}

fn of_maintenance(seen: &NodeSeen) -> Next<NodeStep> {
    match seen.applied {
        0 => Next::Do(NodeStep::Apply),
        _ if !seen.left => Next::wait("the machine to install itself"),
        tries if tries < TRIES => Next::Do(NodeStep::Apply),
        tries => Next::Refused(Blocker::new(
            seen.at,
            format!("the machine came back without a configuration after {tries} attempts to install it"),
            "its console says why: often the disk of `install.disk` is not there, or its image cannot be pulled",
        )),
    }
}

fn of_ours(node: &WantedNode, seen: &NodeSeen, ours: &Ours, bootstrapped: bool) -> Next<NodeStep> {
    match node.identity.judge_ours(&ours.facts, &node.name) {
        Verdict::Same => {}
        Verdict::Unknown(reason) => return Next::wait(reason),
        Verdict::Other(reason) => {
            return Next::Refused(Blocker::new(
                seen.at,
                format!("the machine there is of this cluster, but not {}: {reason}", node.name),
                "give the node its own address and the MAC addresses of its own machine",
            ));
        }
    }
    match &ours.config {
        ConfigSeen::Unknown => return Next::wait("the machine to tell its configuration"),
        ConfigSeen::Differs { role: Some(role), .. } if *role != node.role => {
            return Next::Refused(Blocker::new(
                seen.at,
                format!("it runs as a {}, and the file makes it a {}", word(*role), word(node.role)),
                "a node keeps its role as long as it is installed: reset it first, or give it its role back",
            ));
        }
        ConfigSeen::Differs { .. } if !seen.reconfigured => return Next::Do(NodeStep::Reconfigure),
        ConfigSeen::Differs { .. } | ConfigSeen::Same => {}
    }
    match ours.stage {
        MachineStage::Running => Next::Done,
        MachineStage::Installing => Next::wait("the machine to install itself"),
        // Before there is a cluster, nothing on the node itself can make it run.
        _ if !bootstrapped => Next::wait_for_others("etcd"),
        _ if ours.etcd == Etcd::Waiting => Next::wait("etcd to join the others"),
        _ if ours.unmet.is_empty() => Next::wait("the machine to run"),
        _ => Next::wait(ours.unmet.join("; ")),
    }
}

fn word(role: Role) -> &'static str {
    match role {
        Role::Controlplane => "control plane",
        Role::Worker => "worker",
    }
}

/// Lets only so many nodes begin as may be changed at once, control planes in their order and running ones one by one.
fn in_order(wanted: &Wanted, seen: &Seen, nodes: &mut [Next<NodeStep>]) {
    let mut room = wanted.at_once.saturating_sub(
        wanted.nodes.iter().zip(&seen.nodes).filter(|(node, seen)| node.chosen && is_in_work(seen)).count(),
    );
    let mut earlier: Option<usize> = None;
    for nth in wanted.order() {
        let node = &wanted.nodes[nth];
        let control_plane = node.role == Role::Controlplane;
        if let Next::Do(step) = nodes[nth] {
            let begun = is_begun(&seen.nodes[nth]);
            let held = match (step, earlier) {
                (NodeStep::Apply, Some(earlier)) if control_plane => {
                    Some(format!("{}, which comes first", wanted.nodes[earlier].name))
                }
                (NodeStep::Reconfigure, _) if control_plane => others_moving(wanted, seen, nodes, nth),
                _ => None,
            };
            if let Some(reason) = held {
                nodes[nth] = Next::wait_for_others(reason);
            } else if !begun {
                if room == 0 {
                    nodes[nth] = Next::wait_for_others(format!("others, {} at once", wanted.at_once));
                } else {
                    room -= 1;
                }
            }
        }
        let given = matches!(nodes[nth], Next::Done) || is_given(&seen.nodes[nth]) || nodes[nth].is_over();
        if control_plane && !given && earlier.is_none() {
            earlier = Some(nth);
        }
    }
}

/// Whether a control plane has its configuration, so that the next may have its own.
fn is_given(seen: &NodeSeen) -> bool {
    seen.applied > 0 && !seen.busy || matches!(seen.look, Some(Look::Ours(_)))
}

/// Whether a node is being changed, by us or by what we did.
fn is_in_work(seen: &NodeSeen) -> bool {
    seen.failed.is_none() && (seen.busy || is_begun(seen))
}

/// Whether a node was given its configuration in this run and is not yet back with it.
fn is_begun(seen: &NodeSeen) -> bool {
    let back = match &seen.look {
        Some(Look::Ours(ours)) => !matches!(ours.stage, MachineStage::Installing | MachineStage::Rebooting),
        _ => false,
    };
    (seen.applied > 0 || seen.reconfigured) && !back
}

/// The control plane that is not where it shall be, so that no other may be changed beside it.
fn others_moving(wanted: &Wanted, seen: &Seen, nodes: &[Next<NodeStep>], nth: usize) -> Option<String> {
    let moving = |other: &usize| {
        let seen = &seen.nodes[*other];
        let away = matches!(&seen.look, Some(Look::Ours(ours)) if ours.stage != MachineStage::Running && ours.etcd != Etcd::Waiting);
        *other != nth
            && (is_in_work(seen)
                || away
                || (*other < nth && nodes[*other] == Next::Do(NodeStep::Reconfigure)))
    };
    let other = wanted.control_planes().find(moving)?;
    Some(format!("{}: one control plane at a time", wanted.nodes[other].name))
}

/// What the cluster as a whole needs.
fn of_cluster(wanted: &Wanted, seen: &Seen, record: &Record, nodes: &[Next<NodeStep>]) -> Next<ClusterStep> {
    if let Some(blocker) = &seen.cluster.failed {
        return Next::Refused(blocker.clone());
    }
    if seen.cluster.busy {
        return Next::wait("the step that is being done");
    }
    let runs =
        |nth: &usize| matches!(&seen.nodes[*nth].look, Some(Look::Ours(ours)) if ours.etcd == Etcd::Runs);
    let Some(member) = wanted.control_planes().find(runs) else {
        return if record.is_bootstrapped() {
            if wanted.control_planes().any(|nth| !nodes[nth].is_over()) {
                return Next::wait("etcd");
            }
            Next::Refused(Blocker::new(
                None,
                "etcd was bootstrapped before, and no control plane runs it now",
                "bring a control plane back that has its data, or recover etcd from a snapshot (`talosctl bootstrap \
                 --recover-from`); it is not bootstrapped a second time",
            ))
        } else {
            bootstrap(wanted, seen, record, nodes)
        };
    };
    if !seen.cluster.endpoint {
        return Next::Do(ClusterStep::Endpoint);
    }
    if !seen.cluster.healthy {
        return match wanted.order().into_iter().find(|nth| !nodes[*nth].is_over()) {
            Some(waits) => Next::wait(format!("{}, before health is checked", wanted.nodes[waits].name)),
            None => Next::Do(ClusterStep::Health(member)),
        };
    }
    if !seen.cluster.kubeconfig {
        return Next::Do(ClusterStep::Kubeconfig(member));
    }
    Next::Done
}

/// Whether etcd can be bootstrapped: on the node of the file, or the one on which it was begun; and only if no control
/// plane can have data of it.
fn bootstrap(wanted: &Wanted, seen: &Seen, record: &Record, nodes: &[Next<NodeStep>]) -> Next<ClusterStep> {
    let nth = match &record.bootstrap {
        None => wanted.bootstrap,
        Some(begun) => match wanted.control_planes().find(|nth| wanted.nodes[*nth].name == begun.node) {
            Some(nth) => nth,
            None => {
                return Next::Refused(Blocker::new(
                    None,
                    format!(
                        "the bootstrap of etcd was begun on {}, which is no control plane of the file any more",
                        begun.node
                    ),
                    format!(
                        "give {} back to the file, and choose another bootstrap node never after the first run",
                        begun.node
                    ),
                ));
            }
        },
    };
    let node = &wanted.nodes[nth];
    if let Next::Refused(blocker) = &nodes[nth] {
        return Next::Refused(blocker.clone());
    }
    if !node.chosen {
        return Next::Refused(Blocker::new(
            None,
            format!("etcd is not bootstrapped, and {}, where that is done, is not chosen", node.name),
            format!("choose it too: `--only {}`", node.name),
        ));
    }
    for other in wanted.control_planes().filter(|other| *other != nth) {
        if let Some(reason) = may_have_etcd(wanted, seen, record, nth, other) {
            return match &nodes[other] {
                Next::Refused(blocker) => Next::Refused(blocker.clone()),
                _ => Next::wait(reason),
            };
        }
    }
    match &seen.nodes[nth].look {
        Some(Look::Ours(ours))
            if ours.etcd == Etcd::Waiting
                && !seen.nodes[nth].busy
                && matches!(ours.stage, MachineStage::Booting | MachineStage::Running)
                && matches!(node.identity.judge_ours(&ours.facts, &node.name), Verdict::Same)
                && (ours.config == ConfigSeen::Same || seen.nodes[nth].reconfigured) =>
        {
            Next::Do(ClusterStep::Bootstrap(nth))
        }
        _ => Next::wait(format!("{} to be ready for etcd", node.name)),
    }
}

/// Why a control plane beside the one to bootstrap may have data of etcd: two clusters would come of it.
fn may_have_etcd(wanted: &Wanted, seen: &Seen, record: &Record, nth: usize, other: usize) -> Option<String> {
    let name = &wanted.nodes[other].name;
    let began = record.began(name);
    match &seen.nodes[other].look {
        Some(Look::Maintenance(_)) => None,
        _ if began => None,
        // Somebody else gave both of them their configurations. Talos itself bootstraps nothing over data.
        Some(Look::Ours(ours)) if ours.etcd == Etcd::Waiting && !record.began(&wanted.nodes[nth].name) => {
            None
        }
        Some(Look::Ours(_)) => Some(format!("{name}, which was configured before and may have data of etcd")),
        _ => Some(format!("{name} to be seen once: etcd could run there")),
    }
}
