//! Who belongs together.

use serde::{Deserialize, Serialize};

use super::Kind;

/// A machine of the cluster that was discovered; named by its host name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Member {
    /// Its identity.
    pub node_id: String,
    /// Where it is.
    pub addresses: Vec<String>,
    /// Its name.
    pub hostname: String,
    /// `controlplane` or `worker`.
    pub machine_type: String,
    /// Such as `Talos (v1.13.9)`.
    pub operating_system: String,
}

impl Kind for Member {
    const TYPE: &'static str = "Members.cluster.talos.dev";
    const NAMESPACE: &'static str = "cluster";
}

/// What Kubernetes thinks of this machine; named as Kubernetes names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    /// Its name there.
    pub nodename: String,
    /// Whether it is ready.
    pub node_ready: bool,
    /// Whether nothing new is put on it.
    pub unschedulable: bool,
}

impl Kind for NodeStatus {
    const TYPE: &'static str = "NodeStatuses.kubernetes.talos.dev";
    const NAMESPACE: &'static str = "k8s";
}
