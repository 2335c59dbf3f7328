//! The machine as a node of Kubernetes.

use serde::Deserialize;

use super::ResourceKind;

/// The state of this machine in Kubernetes; named as the Kubernetes node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    /// Whether it is ready.
    pub node_ready: bool,
    /// Whether it is unschedulable.
    pub unschedulable: bool,
}

impl ResourceKind for NodeStatus {
    const TYPE: &'static str = "NodeStatuses.kubernetes.talos.dev";
    const NAMESPACE: &'static str = "k8s";
}
