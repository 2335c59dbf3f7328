//! How a cluster is, against how its file means it.
//!
//! Whoever asks the nodes fills an [`Answer`] for each, and the [`Members`] of etcd. [`Expected`] is the file's side; from both
//! comes a [`NodeReport`], whose `problems` are all that is not as it should be, in plain words with what helps.
//! [`Report`] is all of them, and [`Report::table`] and [`Report::problems`] are for people.
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

use crate::bringup::Contact;
use crate::cluster::section::Role;

pub use expected::{Expected, routing_service};
pub use image::Image;
pub use told::{Answer, EtcdTold, ExtensionTold, KubernetesTold, SessionTold, Told};

/// A node, and how it is with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeReport {
    /// The node.
    pub name: String,
    /// What it is in the cluster.
    #[serde(serialize_with = "role")]
    pub role: Role,
    /// Where it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Contact>,
    /// The release it should have.
    pub(crate) talos_wanted: String,
    /// What it answered.
    #[serde(flatten)]
    pub answer: Answer,
    /// What is not right; empty for a node that is.
    pub problems: Vec<String>,
}

/// The members of etcd, by their host names, as a control plane tells them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Members {
    /// Who told.
    pub told_by: String,
    /// Their names.
    pub names: Vec<String>,
}

/// A cluster, and how it is with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Its name.
    pub cluster: String,
    /// Its nodes, in the order of the file.
    pub nodes: Vec<NodeReport>,
    /// Who is in etcd; none where nobody could tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<Members>,
    /// What is not right with no single node.
    pub problems: Vec<String>,
}

impl NodeReport {
    /// Judges what a node answered.
    pub fn new(expected: &Expected, at: Option<Contact>, answer: Answer) -> Self {
        let problems = judge::node(expected, &answer);
        let (name, role) = (expected.name.clone(), expected.role);
        Self { name, role, at, talos_wanted: expected.talos.to_string(), answer, problems }
    }
}

impl Report {
    /// Judges a cluster as a whole.
    pub fn new(cluster: String, nodes: Vec<NodeReport>, etcd: Option<Members>) -> Self {
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
