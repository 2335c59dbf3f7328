//! What was seen of the machines, and what a run did with them.

use super::blocker::Blocker;
use super::contact::{AddressStage, NodeAddress};
use super::identity::{IdentityMatch, MachineFacts, MachineIdentity};
use crate::cluster::section::Role;
use ichor_talos::api::machine::Stage as MachineStage;

/// What was seen of the whole cluster.
#[derive(Clone, Debug, Default)]
pub struct ObservedState {
    /// The nodes, as in [`DesiredState`](super::Wanted).
    pub nodes: Vec<ObservedNode>,
    /// What concerns no single node.
    pub cluster: ObservedCluster,
}

/// What was seen of the cluster as a whole, in this run.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Debug, Default)]
pub struct ObservedCluster {
    /// Whether a step of the cluster is being done.
    pub busy: bool,
    /// Whether the Kubernetes API answers at the cluster's endpoint.
    pub endpoint: bool,
    /// Whether the cluster was found healthy.
    pub healthy: bool,
    /// Whether the kubeconfig leads to this cluster, or none is wanted.
    pub kubeconfig: bool,
    /// Why a step cannot be done.
    pub failed: Option<Blocker>,
}

/// What was seen of a node.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Debug, Default)]
pub struct ObservedNode {
    /// Where it was seen.
    pub at: Option<NodeAddress>,
    /// What was seen there; none before anybody looked.
    pub look: Option<NodeProbe>,
    /// Its machine, where somebody can make and start it.
    pub machine: Option<ObservedVm>,
    /// Whether a step is being done on it.
    pub busy: bool,
    /// Whether its boot media were put in in this run.
    pub attached: bool,
    /// How often it was given its first configuration in this run.
    pub applied: u8,
    /// Whether it was away since.
    pub left: bool,
    /// Whether a running node was given its configuration in this run.
    pub reconfigured: bool,
    /// Why nothing more can be done with it.
    pub failed: Option<Blocker>,
}

impl ObservedNode {
    /// Notices that a machine came back that was given its configuration when it showed the certificate `given`.
    ///
    /// Silence says nothing: a machine that is busy answers late. Each boot in maintenance mode makes a certificate of its own.
    pub fn came_back(&mut self, look: &NodeProbe, given: Option<&str>) {
        if let NodeProbe::Maintenance(facts) = look {
            self.left = self.applied > 0 && facts.fingerprint.as_deref() != given;
        }
    }
}

/// What answers at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeProbe {
    /// Nobody.
    Silent,
    /// A machine without a configuration.
    Maintenance(MachineFacts),
    /// A machine with a certificate of this cluster.
    Ours(ClusterMember),
    /// A machine of another cluster, or something else: what it shows.
    Foreign(String),
    /// A machine of this cluster that cannot be used now, and why.
    Unclear(String),
}

/// A machine of this cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterMember {
    /// What it tells of itself.
    pub facts: MachineFacts,
    /// What it is doing.
    pub stage: MachineStage,
    /// What it still waits for.
    pub unmet: Vec<String>,
    /// Whether it runs what is wanted.
    pub config: ConfigState,
    /// Its etcd.
    pub etcd: EtcdPhase,
}

/// Whether a node runs what is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigState {
    /// Nobody could tell yet.
    Unknown,
    /// It does.
    Same,
    /// It does not.
    Differs {
        /// What it is in its own configuration.
        role: Option<Role>,
        /// The keys that differ, without their values.
        keys: Vec<String>,
    },
}

/// Where etcd of a control plane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EtcdPhase {
    /// Not known, or not on this node.
    Unknown,
    /// It waits to be bootstrapped or to find members.
    Waiting,
    /// It runs.
    Runs,
}

/// A machine that somebody can make and start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedVm {
    /// Whether it is there.
    pub made: bool,
    /// Whether whoever makes it puts boot media in.
    pub takes_media: bool,
    /// Whether it is switched on.
    pub on: bool,
}

/// Which of the answers at several addresses counts for a node.
///
/// A machine of the cluster that is the node, before one without a configuration that is; then what is wrong, so that it
/// is told; silence last. Of equals the earlier address counts.
pub fn prefer(
    name: &str,
    identity: &MachineIdentity,
    looks: &[(NodeAddress, NodeProbe)],
) -> Option<(NodeAddress, NodeProbe)> {
    let rank = |look: &NodeProbe| match look {
        NodeProbe::Ours(ours) => match identity.judge_ours(&ours.facts, name) {
            IdentityMatch::Same => 0,
            IdentityMatch::Unknown(_) => 1,
            IdentityMatch::Other(_) => 4,
        },
        NodeProbe::Maintenance(facts) => match identity.judge(facts) {
            IdentityMatch::Same => 2,
            IdentityMatch::Unknown(_) => 5,
            IdentityMatch::Other(_) => 6,
        },
        NodeProbe::Foreign(_) => 3,
        NodeProbe::Unclear(_) => 8,
        NodeProbe::Silent => 9,
    };
    // Whoever has the address the node shall have keeps the node from having it.
    let taken = looks
        .iter()
        .find(|(contact, look)| contact.stage == AddressStage::Static && (3..8).contains(&rank(look)));
    let best = looks.iter().min_by_key(|(_, look)| rank(look))?;
    match taken {
        Some(taken) if rank(&best.1) == 2 => Some(taken.clone()),
        _ => Some(best.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_answers_late_has_not_come_back() {
        let shows = |print: &str| {
            NodeProbe::Maintenance(MachineFacts {
                fingerprint: Some(print.to_owned()),
                ..MachineFacts::default()
            })
        };
        let mut seen = ObservedNode { applied: 1, ..ObservedNode::default() };

        seen.came_back(&NodeProbe::Silent, Some("a"));
        seen.came_back(&shows("a"), Some("a"));
        let late = seen.left;
        seen.came_back(&NodeProbe::Silent, Some("a"));
        seen.came_back(&shows("b"), Some("a"));

        assert!(!late && seen.left);
    }
}
