//! kube-vip: the VIP of the API, which one control plane holds at a time.

use serde_json::{Value, json};

use crate::plan::Plan;
use ichor_values::Issue;

/// The supported release.
const IMAGE: &str = "ghcr.io/kube-vip/kube-vip:v1.0.1";

/// Name of the service account and the DaemonSet.
const NAME: &str = "kube-vip";

/// Their namespace.
const NAMESPACE: &str = "kube-system";

/// The objects; none if the file does not use kube-vip.
pub(crate) fn objects(plan: &Plan) -> Result<Vec<Value>, Issue> {
    let Some(decided) = &plan.cluster.kube_vip else { return Ok(Vec::new()) };
    let address = decided.address.value;
    let link = decided.interface.as_ref().ok_or_else(different_links_error)?.value.to_string();
    let length = if address.is_ipv4() { "32" } else { "128" };
    let env = [
        ("vip_arp", "true".to_owned()),
        ("port", "6443".to_owned()),
        ("vip_interface", link),
        ("vip_subnet", length.to_owned()),
        ("cp_enable", "true".to_owned()),
        ("cp_namespace", NAMESPACE.to_owned()),
        ("svc_enable", "false".to_owned()),
        ("vip_leaderelection", "true".to_owned()),
        ("vip_leasename", "plndr-cp-lock".to_owned()),
        ("vip_leaseduration", "15".to_owned()),
        ("vip_renewdeadline", "10".to_owned()),
        ("vip_retryperiod", "2".to_owned()),
        ("address", address.to_string()),
    ];
    // Until the CNI runs, only KubePrism on the node reaches an API server.
    let balancer = plan.cluster.kubeprism.value.to_string();
    let env = env
        .into_iter()
        .chain([("KUBERNETES_SERVICE_HOST", "localhost".to_owned()), ("KUBERNETES_SERVICE_PORT", balancer)]);
    let env: Vec<_> = env.map(|(name, value)| json!({"name": name, "value": value})).collect();
    let mut objects = rbac();
    objects.push(daemon_set(&env));
    Ok(objects)
}

fn different_links_error() -> Issue {
    Issue::error(
        "cluster.kube_vip.interface",
        "the control planes have their addresses on different links, but kube-vip supports one name for all; set \
                 `interface`, and give the links the same name",
    )
}

/// The service account and its RBAC rules: leases and nodes.
fn rbac() -> Vec<Value> {
    let metadata = json!({"name": NAME, "namespace": NAMESPACE});
    let rules = json!([
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "update", "patch"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "list", "watch", "create", "update", "patch"]},
    ]);
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "system:kube-vip"},
            "rules": rules,
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "system:kube-vip"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:kube-vip"},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
        }),
    ]
}

/// The DaemonSet, which runs on every control plane in the host network, even on nodes with taints.
fn daemon_set(env: &[Value]) -> Value {
    let node = json!({"name": "vip_nodename", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}});
    let env: Vec<_> = env.iter().cloned().chain([node]).collect();
    let labels = json!({"app.kubernetes.io/name": NAME});
    let role = json!({"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"});
    let container = json!({
        "name": NAME,
        "image": IMAGE,
        "args": ["manager"],
        "env": env,
        "securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]}},
    });
    let pod = json!({
        "serviceAccountName": NAME,
        "hostNetwork": true,
        "priorityClassName": "system-node-critical",
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [role]}],
        }}},
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}, {"operator": "Exists", "effect": "NoExecute"}],
        "containers": [container],
    });
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    })
}
