//! Simulated pods of a cluster: on every node one that can be evicted, and one of a DaemonSet that cannot.

use serde_json::{Value, json};

use super::etcd::EtcdCluster;

/// The name of the pod that can be moved away from a node.
pub(super) fn name(node: &str) -> String {
    format!("web-{node}")
}

/// The pods of a node, or of all.
pub(super) fn list_pods(etcd: &EtcdCluster, wanted: Option<&str>) -> Vec<Value> {
    let nodes = etcd.nodes.iter().filter(|(name, _)| wanted.is_none_or(|wanted| wanted == name.as_str()));
    let pods = nodes.flat_map(|(node, kube)| {
        let daemon = pod("kube-system", &format!("proxy-{node}"), node, "DaemonSet");
        let web = (!kube.moved).then(|| pod("default", &name(node), node, "ReplicaSet"));
        std::iter::once(daemon).chain(web)
    });
    pods.collect()
}

fn pod(namespace: &str, name: &str, node: &str, owner: &str) -> Value {
    json!({
        "metadata": {
            "namespace": namespace, "name": name, "uid": format!("{namespace}-{name}"),
            "ownerReferences": [{"kind": owner, "name": "simulated", "controller": true}],
        },
        "spec": {"nodeName": node},
        "status": {"phase": "Running"},
    })
}
