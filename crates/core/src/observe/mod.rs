//! The state of a cluster, compared with its file.
//!
//! The inputs are a [`QueryOutcome`] per node and etcd's [`EtcdMemberList`]. Each is compared with an [`ExpectedNode`] from the
//! file. The result is a [`NodeStatusReport`] with `problems` and their remedies. [`ClusterStatusReport`] has all nodes, and
//! [`ClusterStatusReport::table`] and [`ClusterStatusReport::problems`] format it.
//!
//! [`discovered_machine`] describes machines that no cluster file has yet, [`log_cursor`] resumes logs after a connection was
//! lost.
//!
//! Not here: querying nodes, and repairs (`ichor up`, `ichor verify`).

pub mod discovered_machine;
mod expected;
pub mod image;
pub mod log_cursor;
mod problems;
mod snapshot;
mod table;

use serde::Serialize;

use crate::bringup::NodeAddress;
use crate::cluster::section::Role;

pub use expected::{ExpectedNode, routing_service};
pub use image::ExpectedImage;
pub use snapshot::{
    EtcdMemberSummary, InstalledExtension, KubernetesStatus, NodeSnapshot, QueryOutcome, SessionStatus,
};

/// The status of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeStatusReport {
    /// The node.
    #[serde(rename = "node")]
    pub name: String,
    /// Its role.
    #[serde(serialize_with = "serialize_role")]
    pub role: Role,
    /// The address at which it answered.
    #[serde(rename = "contact", skip_serializing_if = "Option::is_none")]
    pub at: Option<NodeAddress>,
    /// The expected release.
    #[serde(rename = "expected_talos_version")]
    pub(crate) talos_wanted: String,
    /// The outcome of the query.
    #[serde(flatten)]
    pub answer: QueryOutcome,
    /// Its problems.
    pub problems: Vec<String>,
}

/// The members of etcd by host name, as reported by a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EtcdMemberList {
    /// The reporting node.
    #[serde(rename = "reported_by")]
    pub told_by: String,
    /// Their names.
    #[serde(rename = "members")]
    pub names: Vec<String>,
}

/// The status of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClusterStatusReport {
    /// Its name.
    pub cluster: String,
    /// Its nodes, in the order of the file.
    pub nodes: Vec<NodeStatusReport>,
    /// The members of etcd; none if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<EtcdMemberList>,
    /// Problems that concern no single node.
    pub problems: Vec<String>,
}

impl NodeStatusReport {
    /// Compares the outcome of a query with the expected node.
    pub fn new(expected: &ExpectedNode, at: Option<NodeAddress>, answer: QueryOutcome) -> Self {
        let problems = problems::find_node_problems(expected, &answer);
        let (name, role) = (expected.name.clone(), expected.role);
        Self { name, role, at, talos_wanted: expected.talos.to_string(), answer, problems }
    }
}

impl ClusterStatusReport {
    /// Finds the problems of the cluster.
    pub fn new(cluster: String, nodes: Vec<NodeStatusReport>, etcd: Option<EtcdMemberList>) -> Self {
        let problems = problems::find_cluster_problems(&nodes, etcd.as_ref());
        Self { cluster, nodes, etcd, problems }
    }

    /// Whether there are no problems.
    pub fn is_healthy(&self) -> bool {
        self.problems.is_empty() && self.nodes.iter().all(|node| node.problems.is_empty())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn serialize_role<S: serde::Serializer>(role: &Role, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(role.word())
}

#[cfg(test)]
mod tests;
