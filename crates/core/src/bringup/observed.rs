//! The observed state of the machines, and the steps of this run.

use super::blocker::Blocker;
use super::contact::{AddressStage, NodeAddress};
use super::identity::{IdentityMatch, MachineFacts, MachineIdentity};
use crate::cluster::section::Role;
use ichor_talos::api::machine::Stage as MachineStage;

/// The observed state of nodes and cluster.
#[derive(Clone, Debug, Default)]
pub struct ObservedState {
    /// The nodes, as in [`DesiredState`](super::DesiredState).
    pub nodes: Vec<ObservedNode>,
    /// The cluster.
    pub cluster: ObservedCluster,
}

/// The observed state of the cluster in this run.
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
#[derive(Clone, Debug, Default)]
pub struct ObservedCluster {
    /// Whether a step of the cluster is in progress.
    pub busy: bool,
    /// Whether the Kubernetes API answers at the cluster's endpoint.
    pub endpoint: bool,
    /// Whether the cluster passed the health check.
    pub healthy: bool,
    /// Whether the kubeconfig has access to this cluster, or none is wanted.
    pub kubeconfig: bool,
    /// Why a step failed.
    pub failed: Option<Blocker>,
}

/// The observed state of a node.
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
#[derive(Clone, Debug, Default)]
pub struct ObservedNode {
    /// The address of the last probe.
    pub at: Option<NodeAddress>,
    /// The last probe; none before the first.
    pub look: Option<NodeProbe>,
    /// Its machine, if it has a provider.
    pub machine: Option<ObservedVm>,
    /// Whether a step is in progress.
    pub busy: bool,
    /// Whether its boot media were inserted in this run.
    pub attached: bool,
    /// The number of attempts to apply its first configuration in this run.
    pub applied: u8,
    /// Whether it has rebooted since.
    pub left: bool,
    /// Whether its configuration was updated in this run.
    pub reconfigured: bool,
    /// Why it is blocked.
    pub failed: Option<Blocker>,
}

impl ObservedNode {
    /// Detects that a machine is back in maintenance mode after a reboot; `given` is its certificate when the configuration was
    /// applied.
    ///
    /// A missing reply proves nothing, because a busy machine may answer late. Each boot in maintenance mode creates a new
    /// certificate.
    pub fn detect_reboot(&mut self, look: &NodeProbe, given: Option<&str>) {
        if let NodeProbe::Maintenance(facts) = look {
            self.left = self.applied > 0 && facts.fingerprint.as_deref() != given;
        }
    }
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeProbe {
    /// No reply.
    Silent,
    /// A machine without a configuration.
    Maintenance(MachineFacts),
    /// A machine with a certificate of this cluster.
    Ours(ClusterMember),
    /// A machine of another cluster, or another service, with a description.
    Foreign(String),
    /// A machine of this cluster that cannot be queried, with the reason.
    Unclear(String),
}

/// A machine of this cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterMember {
    /// Its identifying properties.
    pub facts: MachineFacts,
    /// Its stage.
    pub stage: MachineStage,
    /// Unmet conditions.
    pub unmet: Vec<String>,
    /// Whether it has the desired configuration.
    pub config: ConfigState,
    /// The phase of its etcd.
    pub etcd: EtcdPhase,
}

/// Whether a node has the desired configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigState {
    /// Not known yet.
    Unknown,
    /// It has.
    Same,
    /// It has another one.
    Differs {
        /// The role in its configuration.
        role: Option<Role>,
        /// The keys that differ, without their values.
        keys: Vec<String>,
    },
}

/// The phase of etcd on a control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EtcdPhase {
    /// Not known, or not on this node.
    Unknown,
    /// Waiting for the bootstrap or for other members.
    Waiting,
    /// Running.
    Runs,
}

/// A machine with a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedVm {
    /// Whether it exists.
    pub made: bool,
    /// Whether the provider inserts boot media.
    pub takes_media: bool,
    /// Whether it is on.
    pub on: bool,
}

/// Selects the relevant probe of a node among those of several addresses.
///
/// A member of the cluster that is the node comes first, then a machine in maintenance mode that is the node, then problems, so
/// that they are reported, and missing replies last. Among equals the earlier address counts.
pub fn select_probe(
    name: &str,
    identity: &MachineIdentity,
    looks: &[(NodeAddress, NodeProbe)],
) -> Option<(NodeAddress, NodeProbe)> {
    let rank = |look: &NodeProbe| match look {
        NodeProbe::Ours(ours) => match identity.match_member(&ours.facts, name) {
            IdentityMatch::Same => 0,
            IdentityMatch::Unknown(_) => 1,
            IdentityMatch::Other(_) => 4,
        },
        NodeProbe::Maintenance(facts) => match identity.match_unconfigured(facts) {
            IdentityMatch::Same => 2,
            IdentityMatch::Unknown(_) => 5,
            IdentityMatch::Other(_) => 6,
        },
        NodeProbe::Foreign(_) => 3,
        NodeProbe::Unclear(_) => 8,
        NodeProbe::Silent => 9,
    };
    // Another machine with the node's static address blocks the node.
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
    fn a_late_reply_is_not_a_reboot() {
        let maintenance = |print: &str| {
            NodeProbe::Maintenance(MachineFacts {
                fingerprint: Some(print.to_owned()),
                ..MachineFacts::default()
            })
        };
        let mut seen = ObservedNode { applied: 1, ..ObservedNode::default() };

        seen.detect_reboot(&NodeProbe::Silent, Some("a"));
        seen.detect_reboot(&maintenance("a"), Some("a"));
        let late = seen.left;
        seen.detect_reboot(&NodeProbe::Silent, Some("a"));
        seen.detect_reboot(&maintenance("b"), Some("a"));

        assert!(!late && seen.left);
    }
}
