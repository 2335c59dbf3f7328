//! How a cluster is, against how its file means it.
//!
//! Whoever asks the nodes fills an [`QueryOutcome`] for each, and the [`EtcdMemberList`] of etcd. [`ExpectedNode`] is the file's side; from both
//! comes a [`NodeStatusReport`], whose `problems` are all that is not as it should be, in plain words with what helps.
//! [`ClusterStatusReport`] is all of them, and [`ClusterStatusReport::table`] and [`ClusterStatusReport::problems`] are for people.
//!
//! [`found`] is about machines that nobody knows yet, [`seam`] about logs that go on after a node was lost.
//!
//! Not here: how nodes are asked, and what to do about it (`ichor up`, `ichor verify`).

mod expected;
pub mod found;
pub mod image;
mod judge;
pub mod seam;
mod table;
mod told;

use serde::Serialize;

use crate::bringup::NodeAddress;
use crate::cluster::section::Role;

pub use expected::{ExpectedNode, routing_service};
pub use image::ExpectedImage;
pub use told::{
    EtcdMemberSummary, InstalledExtension, KubernetesStatus, NodeSnapshot, QueryOutcome, SessionStatus,
};

/// A node, and how it is with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeStatusReport {
    /// The node.
    #[serde(rename = "node")]
    pub name: String,
    /// What it is in the cluster.
    #[serde(serialize_with = "role")]
    pub role: Role,
    /// Where it answered.
    #[serde(rename = "contact", skip_serializing_if = "Option::is_none")]
    pub at: Option<NodeAddress>,
    /// The release it should have.
    #[serde(rename = "expected_talos_version")]
    pub(crate) talos_wanted: String,
    /// What it answered.
    #[serde(flatten)]
    pub answer: QueryOutcome,
    /// What is not right; empty for a node that is.
    pub problems: Vec<String>,
}

/// The members of etcd, by their host names, as a control plane tells them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EtcdMemberList {
    /// Who told.
    #[serde(rename = "reported_by")]
    pub told_by: String,
    /// Their names.
    #[serde(rename = "members")]
    pub names: Vec<String>,
}

/// A cluster, and how it is with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClusterStatusReport {
    /// Its name.
    pub cluster: String,
    /// Its nodes, in the order of the file.
    pub nodes: Vec<NodeStatusReport>,
    /// Who is in etcd; none where nobody could tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<EtcdMemberList>,
    /// What is not right with no single node.
    pub problems: Vec<String>,
}

impl NodeStatusReport {
    /// Judges what a node answered.
    pub fn new(expected: &ExpectedNode, at: Option<NodeAddress>, answer: QueryOutcome) -> Self {
        let problems = judge::node(expected, &answer);
        let (name, role) = (expected.name.clone(), expected.role);
        Self { name, role, at, talos_wanted: expected.talos.to_string(), answer, problems }
    }
}

impl ClusterStatusReport {
    /// Judges a cluster as a whole.
    pub fn new(cluster: String, nodes: Vec<NodeStatusReport>, etcd: Option<EtcdMemberList>) -> Self {
        let problems = judge::cluster(&nodes, etcd.as_ref());
        Self { cluster, nodes, etcd, problems }
    }

    /// Whether all is as it should be.
    pub fn is_right(&self) -> bool {
        self.problems.is_empty() && self.nodes.iter().all(|node| node.problems.is_empty())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn role<S: serde::Serializer>(role: &Role, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(role.word())
}

#[cfg(test)]
mod tests;
