//! The values of Cilium's chart that Talos requires, and conflicts with the file's own values.

use serde_json::{Map, Value, json};

use crate::plan::Plan;
use ichor_bgp::setting::Speaker;

/// Capabilities of the agent; Cilium's default includes SYS_MODULE, with which Talos starts no container.
const AGENT: [&str; 11] = [
    "CHOWN",
    "KILL",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "SYS_ADMIN",
    "SYS_RESOURCE",
    "DAC_OVERRIDE",
    "FOWNER",
    "SETGID",
    "SETUID",
];
/// Capabilities of the init container that cleans up.
const CLEANER: [&str; 3] = ["NET_ADMIN", "SYS_ADMIN", "SYS_RESOURCE"];

/// A required value of the chart.
#[derive(Debug)]
struct RequiredValue {
    /// Its keys, separated by dots.
    path: &'static str,
    value: Value,
    /// Whether another value is compatible with it.
    fits: fn(&Value, &Value) -> bool,
    /// Why.
    why: &'static str,
}

/// A value of the file that conflicts with a required one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueConflict {
    /// Its keys, separated by dots.
    pub path: &'static str,
    /// The conflict and its reason.
    pub message: String,
}

/// The required values, which the file's own may override.
pub fn values(plan: &Plan) -> Value {
    let mut values = Map::new();
    for need in required_values(plan) {
        insert(&mut values, need.path, need.value);
    }
    if plan.nodes.len() == 1 {
        // A second replica would stay pending on a single node.
        insert(&mut values, "operator.replicas", json!(1));
    }
    Value::Object(values)
}

/// Conflicts of the file's `own` values with required ones.
pub(crate) fn conflicts(plan: &Plan, own: &Value) -> Vec<ValueConflict> {
    let conflict = |need: RequiredValue| {
        let found = find(own, need.path)?;
        let message = match found {
            ValueLookup::Value(value) if (need.fits)(value, &need.value) => return None,
            ValueLookup::Value(value) => {
                format!("`{}: {value}`, but {} is required: {}", need.path, need.value, need.why)
            }
            ValueLookup::Cut(path) => {
                format!(
                    "`{path}` is not a map, but must contain `{}: {}`: {}",
                    need.path, need.value, need.why
                )
            }
        };
        Some(ValueConflict { path: need.path, message })
    };
    required_values(plan).into_iter().filter_map(conflict).collect()
}

fn required_values(plan: &Plan) -> Vec<RequiredValue> {
    let pods = &plan.cluster.pods.value;
    let has = |v6: bool| pods.iter().any(|net| net.addr().is_ipv6() == v6);
    let proxy = plan.cluster.kube_proxy.value;
    let port = plan.cluster.kubeprism.value;
    let need = |path, value, why| RequiredValue { path, value, fits: is_equivalent, why };
    let mut needs = vec![
        need("ipam.mode", json!("kubernetes"), "Kubernetes assigns each node a subnet of `cluster.pods`"),
        need("ipv4.enabled", json!(has(false)), "`cluster.pods` determines the address families of pods"),
        need("ipv6.enabled", json!(has(true)), "`cluster.pods` determines the address families of pods"),
        need(
            "kubeProxyReplacement",
            json!(!proxy),
            if proxy { "kube-proxy runs" } else { "kube-proxy does not run (`cluster.kube_proxy`)" },
        ),
        need(
            "k8sServiceHost",
            json!("localhost"),
            "KubePrism is reachable on every node, before the pod network is up",
        ),
        need("k8sServicePort", json!(port), "KubePrism listens on this port (`cluster.kubeprism`)"),
        need("cgroup.autoMount.enabled", json!(false), "Talos mounts cgroups itself"),
        need("cgroup.hostRoot", json!("/sys/fs/cgroup"), "Talos mounts cgroups there"),
    ];
    let modules = "Talos starts no container that may load kernel modules";
    let capabilities = [
        ("securityContext.capabilities.ciliumAgent", json!(AGENT)),
        ("securityContext.capabilities.cleanCiliumState", json!(CLEANER)),
    ];
    needs.extend(capabilities.map(|(path, value)| RequiredValue {
        path,
        value,
        fits: allows_no_modules,
        why: modules,
    }));
    needs.push(RequiredValue {
        path: "hubble.tls.auto.method",
        value: json!("cronJob"),
        fits: |own, _| own != "helm",
        why: "helm would generate new keys each time, stored unencrypted in the lock file",
    });
    if plan.has_speaker(Speaker::Cilium) {
        let why = "Cilium announces service addresses (`routing.workload.speaker`)";
        needs.push(need("bgpControlPlane.enabled", json!(true), why));
    }
    needs
}

/// Whether two values are equivalent in a chart: strings equal booleans and numbers of the same text.
fn is_equivalent(own: &Value, needed: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.replace("127.0.0.1", "localhost")),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    };
    text(own).is_some_and(|own| Some(own) == text(needed))
}

fn allows_no_modules(own: &Value, _: &Value) -> bool {
    own.as_array().is_some_and(|list| !list.iter().any(|name| name == "SYS_MODULE" || name == "ALL"))
}

enum ValueLookup<'v> {
    Value(&'v Value),
    /// The value at this path, above the requested one, is not a map.
    Cut(String),
}

fn find<'v>(values: &'v Value, path: &str) -> Option<ValueLookup<'v>> {
    let mut value = values;
    let mut walked: Vec<&str> = Vec::new();
    for key in path.split('.') {
        let Some(map) = value.as_object() else { return Some(ValueLookup::Cut(walked.join("."))) };
        value = map.get(key)?;
        walked.push(key);
    }
    Some(ValueLookup::Value(value))
}

fn insert(map: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            map.insert(path.to_owned(), value);
        }
        Some((key, rest)) => {
            let below = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(below) = below {
                insert(below, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_values_do_not_conflict() {
        assert!(is_equivalent(&json!("true"), &json!(true)));
        assert!(is_equivalent(&json!("7445"), &json!(7445)));
        assert!(is_equivalent(&json!("127.0.0.1"), &json!("localhost")));
        assert!(!is_equivalent(&json!("10.0.0.1"), &json!("localhost")));
        assert!(!is_equivalent(&Value::Null, &json!(false)));
        assert!(allows_no_modules(&json!(["NET_ADMIN"]), &Value::Null));
        assert!(!allows_no_modules(&json!(["NET_ADMIN", "SYS_MODULE"]), &Value::Null));
        assert!(!allows_no_modules(&json!({}), &Value::Null));
    }

    #[test]
    fn a_scalar_instead_of_a_map_is_detected() {
        let own = json!({"cgroup": {"autoMount": false}});

        assert!(
            matches!(find(&own, "cgroup.autoMount.enabled"), Some(ValueLookup::Cut(path)) if path == "cgroup.autoMount")
        );
        assert!(find(&own, "cgroup.hostRoot").is_none());
    }
}
