//! kube-vip: the address of the API, which one control plane holds at a time.

use serde_json::{Value, json};

use crate::plan::Plan;
use ichor_values::Issue;

/// The release that is written for.
const IMAGE: &str = "ghcr.io/kube-vip/kube-vip:v1.0.1";

/// The account it runs as, and the set that runs it.
const NAME: &str = "kube-vip";

/// The namespace of both.
const NAMESPACE: &str = "kube-system";

/// The objects; none where the file does not ask for it.
pub(crate) fn objects(plan: &Plan) -> Result<Vec<Value>, Issue> {
    let Some(decided) = &plan.cluster.kube_vip else { return Ok(Vec::new()) };
    let address = decided.address.value;
    let link = decided.interface.as_ref().ok_or_else(different_links)?.value.to_string();
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
    // Before there is a CNI only the balancer on the node itself leads to an API server.
    let balancer = plan.cluster.kubeprism.value.to_string();
    let env = env
        .into_iter()
        .chain([("KUBERNETES_SERVICE_HOST", "localhost".to_owned()), ("KUBERNETES_SERVICE_PORT", balancer)]);
    let env: Vec<_> = env.map(|(name, value)| json!({"name": name, "value": value})).collect();
    let mut objects = rights();
    objects.push(set(&env));
    Ok(objects)
}

fn different_links() -> Issue {
    Issue::error(
        "cluster.kube_vip.interface",
        "control planes have their addresses on different links, and kube-vip is told one for all; write \
                 `interface`, and name the links alike",
    )
}

/// What it may do: hold leases, and look at nodes.
fn rights() -> Vec<Value> {
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

/// One on every control plane, in the node's own network, before anything else can run there.
fn set(env: &[Value]) -> Value {
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
