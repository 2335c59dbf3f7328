//! Errors of the cluster client.

use ichor_client::kubernetes::{KubernetesCredentialsError, KubernetesError};
use ichor_client::talos::NodeError;
use ichor_core::bringup::NodeAddress;

use crate::connect::ConnectorError;

/// Errors of opening a cluster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterOpenError {
    #[error(transparent)]
    Reach(#[from] ConnectorError),
    #[error("the cluster's secrets are required to connect to its nodes")]
    NoSecrets,
    #[error(transparent)]
    Kubernetes(#[from] KubernetesCredentialsError),
}

/// Errors of operations on a cluster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    #[error("the cluster file has no such node")]
    UnknownNode,
    #[error("the machine at {0} is in maintenance mode and has no configuration")]
    Maintenance(NodeAddress),
    /// No answer, or another machine answers.
    #[error("{0}")]
    Unreachable(String),
    #[error("no control plane node is reachable")]
    NoControlPlane,
    #[error("no other control plane node is reachable")]
    NoOtherControlPlane,
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Kubernetes(#[from] KubernetesError),
    #[error("invalid Talos release `{0}`")]
    InvalidRelease(String),
    #[error("did not come back within {seconds} s: {last}")]
    RebootTimeout { seconds: u64, last: String },
    #[error("pods not evicted within {seconds} s: {pods}")]
    DrainTimeout { seconds: u64, pods: String },
    #[error("{drain}; the node stays cordoned: {uncordon}")]
    Cordoned { drain: Box<ClusterError>, uncordon: KubernetesError },
    #[error("{waits} ({})", error.answer())]
    Unhealthy { waits: String, error: Box<NodeError> },
    /// The error of each control plane node.
    #[error("{}", .0.join("; "))]
    Etcd(Vec<String>),
    #[error("not reset within {seconds} s: {waits}")]
    ResetTimeout { seconds: u64, waits: String },
}

impl ClusterError {
    /// The message without the node name.
    pub(super) fn answer(&self) -> String {
        match self {
            Self::Node(error) => error.answer().to_owned(),
            other => other.to_string(),
        }
    }
}
