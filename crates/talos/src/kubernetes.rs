//! Requests to and responses of the Kubernetes API: nodes, their pods, and evictions.
//!
//! Not here: HTTP.

use serde_json::{Value, json};

/// The annotation of a node that ichor has cordoned, and by which it knows that it may take that back.
pub(crate) const CORDONED: &str = "ichor/cordoned-for";

/// A node as Kubernetes has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeNode {
    /// Its name.
    pub name: String,
    /// Whether it is unschedulable.
    pub unschedulable: bool,
    /// The reason for which ichor cordoned it, if it did.
    pub cordoned_for: Option<String>,
    /// Whether it is ready.
    pub ready: bool,
    /// The message of its `Ready` condition.
    pub message: String,
    /// Why its pods have no network; none if no condition reports it.
    pub network: Option<String>,
    /// The release of its kubelet, such as `v1.36.3`.
    pub kubelet: String,
}

impl KubeNode {
    /// Reads one of the API; none without a name.
    pub fn read(value: &Value) -> Option<Self> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        let conditions = value.pointer("/status/conditions").and_then(Value::as_array);
        let condition = |kind: &str| conditions.into_iter().flatten().find(|it| it["type"] == kind);
        let says = |it: &Value| it["message"].as_str().unwrap_or_default().to_owned();
        let ready = condition("Ready");
        // A CNI reports in a condition of its own, and the kubelet while no CNI is installed.
        let unavailable = condition("NetworkUnavailable").filter(|it| it["status"] == "True").map(says);
        let unplugged = ready.map(says).filter(|message| message.contains("NetworkReady=false"));
        Some(Self {
            name: text("/metadata/name")?.to_owned(),
            unschedulable: value.pointer("/spec/unschedulable").and_then(Value::as_bool).unwrap_or(false),
            cordoned_for: value["metadata"]["annotations"][CORDONED].as_str().map(str::to_owned),
            ready: ready.is_some_and(|it| it["status"] == "True"),
            message: ready.map(says).unwrap_or_default(),
            network: unavailable.or(unplugged),
            kubelet: text("/status/nodeInfo/kubeletVersion").unwrap_or_default().to_owned(),
        })
    }
}

/// A pod on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Distinguishes it from a later pod of the same name.
    pub uid: String,
    /// Whether it is moved away when its node is drained.
    pub moves: bool,
}

impl Pod {
    /// Reads a pod of the API; none without a name.
    ///
    /// Pods of a DaemonSet would be scheduled on the same node again, static pods are not managed by Kubernetes, and completed
    /// ones do not block a drain.
    pub fn read(value: &Value) -> Option<Self> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        let owners = value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let belongs = owners
            .into_iter()
            .flatten()
            .any(|owner| owner["kind"] == "DaemonSet" && owner["controller"].as_bool().unwrap_or(false));
        let mirror = value["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_string();
        let ended = matches!(text("/status/phase"), Some("Succeeded" | "Failed"));
        Some(Self {
            namespace: text("/metadata/namespace")?.to_owned(),
            name: text("/metadata/name")?.to_owned(),
            uid: text("/metadata/uid").unwrap_or_default().to_owned(),
            moves: !(belongs || mirror || ended),
        })
    }

    /// The request body that evicts it, subject to its disruption budget.
    pub fn eviction(&self) -> Value {
        json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": self.name, "namespace": self.namespace},
        })
    }
}

/// The request body that cordons a node.
pub fn cordon(reason: &str) -> Value {
    json!({"metadata": {"annotations": {CORDONED: reason}}, "spec": {"unschedulable": true}})
}

/// The request body that reverts [`cordon`].
pub fn uncordon() -> Value {
    json!({"metadata": {"annotations": {CORDONED: null}}, "spec": {"unschedulable": null}})
}

/// The error message of a response.
pub fn failure(answer: &Value) -> Option<&str> {
    (answer["kind"] == "Status").then(|| answer["message"].as_str()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(more: &Value) -> Pod {
        let mut pod = json!({"metadata": {"namespace": "web", "name": "shop", "uid": "u"}, "status": {"phase": "Running"}});
        for (key, value) in more.as_object().unwrap() {
            let (head, tail) = key.split_once('/').unwrap();
            pod[head][tail] = value.clone();
        }
        Pod::read(&pod).unwrap()
    }

    #[test]
    fn daemon_set_static_and_completed_pods_are_not_evicted() {
        assert!(pod(&json!({})).moves);
        assert!(
            pod(&json!({"metadata/ownerReferences": [{"kind": "ReplicaSet", "controller": true}]})).moves
        );

        assert!(
            !pod(&json!({"metadata/ownerReferences": [{"kind": "DaemonSet", "controller": true}]})).moves
        );
        assert!(!pod(&json!({"metadata/annotations": {"kubernetes.io/config.mirror": "x"}})).moves);
        assert!(!pod(&json!({"status/phase": "Succeeded"})).moves);
    }

    #[test]
    fn the_annotation_says_which_program_cordoned_a_node() {
        let cordoned = json!({
            "metadata": {"name": "w", "annotations": {CORDONED: "upgrade"}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.36.3"}},
        });

        let read = KubeNode::read(&cordoned).unwrap();

        assert_eq!(read.cordoned_for.as_deref(), Some("upgrade"));
        assert!(read.unschedulable && read.ready);
        assert_eq!((read.kubelet.as_str(), read.network), ("v1.36.3", None));
        let by_hand =
            KubeNode::read(&json!({"metadata": {"name": "w"}, "spec": {"unschedulable": true}})).unwrap();
        assert_eq!(by_hand.cordoned_for, None);
    }

    #[test]
    fn a_missing_network_is_reported_by_the_cni_or_the_kubelet() {
        let network = |kind: &str, status: &str, message: &str| {
            let condition = json!({"type": kind, "status": status, "message": message});
            KubeNode::read(&json!({"metadata": {"name": "w"}, "status": {"conditions": [condition]}}))
                .unwrap()
                .network
        };
        let unplugged =
            "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady";

        assert_eq!(network("Ready", "False", unplugged).as_deref(), Some(unplugged));
        assert_eq!(network("NetworkUnavailable", "True", "no route").as_deref(), Some("no route"));
        assert_eq!(network("NetworkUnavailable", "False", "flannel is running"), None);
        assert_eq!(network("Ready", "False", "PLEG is not healthy"), None);
    }
}
