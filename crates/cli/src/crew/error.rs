//! Why something is not known of the nodes of a cluster, or was not done with one of them.

use ichor_client::kubernetes::{KubernetesError, OpenError};
use ichor_client::talos::NodeError;
use ichor_core::bringup::Contact;

use crate::reach::ReachError;

/// Why the nodes of a cluster cannot be worked with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CrewOpenError {
    #[error(transparent)]
    Reach(#[from] ReachError),
    #[error("without the secrets of the cluster its nodes listen to nobody")]
    NoSecrets,
    #[error(transparent)]
    Kubernetes(#[from] OpenError),
}

/// Why something is not known of a node, or was not done with it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CrewError {
    #[error("the file has no such node")]
    UnknownNode,
    #[error("the machine at {0} is in maintenance mode, and no node yet")]
    Maintenance(Contact),
    /// Another machine answers, or none.
    #[error("{0}")]
    Nobody(String),
    #[error("no control plane answers")]
    NoControlPlane,
    #[error("no other control plane answers")]
    NoOtherControlPlane,
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Kubernetes(#[from] KubernetesError),
    #[error("it says its release is `{0}`, which is none")]
    NoRelease(String),
    #[error("it did not come back within {seconds} s: {last}")]
    Away { seconds: u64, last: String },
    #[error("after {seconds} s these pods are still there: {pods}")]
    Pods { seconds: u64, pods: String },
    #[error("{drain}; and it stays cordoned: {uncordon}")]
    Cordoned { drain: Box<CrewError>, uncordon: KubernetesError },
    #[error("{waits} ({})", error.answer())]
    Unwell { waits: String, error: Box<NodeError> },
    /// What each control plane answers in the place of what etcd is.
    #[error("{}", .0.join("; "))]
    Etcd(Vec<String>),
    #[error("after {seconds} s {waits}")]
    NotForgotten { seconds: u64, waits: String },
}

impl CrewError {
    /// What is wrong, without the name of the node where that is known anyway.
    pub(super) fn answer(&self) -> String {
        match self {
            Self::Node(error) => error.answer().to_owned(),
            other => other.to_string(),
        }
    }
}
