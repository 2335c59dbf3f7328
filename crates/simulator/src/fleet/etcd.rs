//! The etcd of a simulated cluster, and Kubernetes' data in it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// An etcd, as one bootstrap made it.
#[derive(Clone, Debug)]
pub struct EtcdCluster {
    /// The cluster it belongs to, by the key that its nodes share.
    pub cluster: [u8; 32],
    /// Its members.
    pub members: Vec<Member>,
    /// The member that leads, by its machine.
    pub leader: Option<usize>,
    /// The machine that holds the address of the API.
    pub(crate) holder: Option<usize>,
    /// Kubernetes' nodes, by name.
    pub nodes: BTreeMap<String, KubeNode>,
    /// The number of its last change.
    pub(crate) revision: u64,
}

/// A member of an etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id in etcd.
    pub id: u64,
    /// The machine it is on.
    pub machine: usize,
    /// The hostname of that machine when it joined.
    pub hostname: String,
    /// The addresses that it advertises to other members.
    pub addresses: Vec<IpAddr>,
    /// Whether it does not vote yet.
    pub learner: bool,
}

/// A node as Kubernetes knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeNode {
    /// The machine whose kubelet it is.
    pub machine: usize,
    /// Whether nothing new is to run there.
    pub unschedulable: bool,
    /// The annotations set by clients.
    pub(crate) annotations: BTreeMap<String, String>,
    /// Whether its pods were evicted; they come back when the node is uncordoned.
    pub(crate) moved: bool,
    /// When it joined.
    pub created: Duration,
    /// The revision it was last changed at.
    pub(crate) revision: u64,
}

impl EtcdCluster {
    /// A cluster without members.
    pub(super) fn new(cluster: [u8; 32]) -> Self {
        Self { cluster, members: Vec::new(), leader: None, holder: None, nodes: BTreeMap::new(), revision: 1 }
    }

    /// The member on a machine.
    pub fn member(&self, machine: usize) -> Option<&Member> {
        self.members.iter().find(|member| member.machine == machine)
    }

    /// The voting members.
    pub(crate) fn voters(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.learner)
    }

    /// Changes something; the number of the change.
    pub(super) fn change(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }
}
