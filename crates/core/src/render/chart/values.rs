//! The values that Talos needs of Cilium's chart, and what of the file's own does not go with them.

use serde_json::{Map, Value, json};

use crate::plan::Plan;
use ichor_bgp::setting::Speaker;

/// What the agent may do; Cilium's own list has SYS_MODULE too, and Talos starts no container with it.
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
/// The same for what cleans up before it.
const CLEANER: [&str; 3] = ["NET_ADMIN", "SYS_ADMIN", "SYS_RESOURCE"];

/// A value that the chart must have.
#[derive(Debug)]
struct RequiredValue {
    /// Its keys, parted by dots.
    path: &'static str,
    value: Value,
    /// What else will do.
    fits: fn(&Value, &Value) -> bool,
    /// Why.
    why: &'static str,
}

/// A value of the file that does not go with what is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueConflict {
    /// Its keys, parted by dots.
    pub path: &'static str,
    /// What is wrong, and why.
    pub message: String,
}

/// The values, as far as the file's own say nothing else.
pub fn values(plan: &Plan) -> Value {
    let mut values = Map::new();
    for need in needs(plan) {
        put(&mut values, need.path, need.value);
    }
    if plan.nodes.len() == 1 {
        // The second would wait for a second node for ever.
        put(&mut values, "operator.replicas", json!(1));
    }
    Value::Object(values)
}

/// What of `own` values does not go with those that are needed.
pub(crate) fn conflicts(plan: &Plan, own: &Value) -> Vec<ValueConflict> {
    let conflict = |need: RequiredValue| {
        let found = find(own, need.path)?;
        let message = match found {
            ValueLookup::Value(value) if (need.fits)(value, &need.value) => return None,
            ValueLookup::Value(value) => {
                format!("`{}: {value}`, where {} is needed: {}", need.path, need.value, need.why)
            }
            ValueLookup::Cut(path) => {
                format!(
                    "`{path}` is no map, and `{}: {}` is needed in it: {}",
                    need.path, need.value, need.why
                )
            }
        };
        Some(ValueConflict { path: need.path, message })
    };
    needs(plan).into_iter().filter_map(conflict).collect()
}

fn needs(plan: &Plan) -> Vec<RequiredValue> {
    let pods = &plan.cluster.pods.value;
    let has = |v6: bool| pods.iter().any(|net| net.addr().is_ipv6() == v6);
    let proxy = plan.cluster.kube_proxy.value;
    let port = plan.cluster.kubeprism.value;
    let need = |path, value, why| RequiredValue { path, value, fits: same, why };
    let mut needs = vec![
        need("ipam.mode", json!("kubernetes"), "Kubernetes gives each node a part of `cluster.pods`"),
        need("ipv4.enabled", json!(has(false)), "`cluster.pods` says which families pods have"),
        need("ipv6.enabled", json!(has(true)), "`cluster.pods` says which families pods have"),
        need(
            "kubeProxyReplacement",
            json!(!proxy),
            if proxy { "kube-proxy runs" } else { "kube-proxy does not run (`cluster.kube_proxy`)" },
        ),
        need(
            "k8sServiceHost",
            json!("localhost"),
            "KubePrism answers on every node, before there is a pod network",
        ),
        need("k8sServicePort", json!(port), "KubePrism listens there (`cluster.kubeprism`)"),
        need("cgroup.autoMount.enabled", json!(false), "Talos has mounted control groups already"),
        need("cgroup.hostRoot", json!("/sys/fs/cgroup"), "Talos has mounted control groups there"),
    ];
    let modules = "Talos starts no container that may load kernel modules";
    let capabilities = [
        ("securityContext.capabilities.ciliumAgent", json!(AGENT)),
        ("securityContext.capabilities.cleanCiliumState", json!(CLEANER)),
    ];
    needs.extend(capabilities.map(|(path, value)| RequiredValue {
        path,
        value,
        fits: no_modules,
        why: modules,
    }));
    needs.push(RequiredValue {
        path: "hubble.tls.auto.method",
        value: json!("cronJob"),
        fits: |own, _| own != "helm",
        why: "helm would make other keys each time, for everybody to read in the lock",
    });
    if plan.has_speaker(Speaker::Cilium) {
        let why = "Cilium announces service addresses (`routing.workload.speaker`)";
        needs.push(need("bgpControlPlane.enabled", json!(true), why));
    }
    needs
}

/// Whether two values are the same to a chart: some are written as text or not.
fn same(own: &Value, needed: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.replace("127.0.0.1", "localhost")),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    };
    text(own).is_some_and(|own| Some(own) == text(needed))
}

fn no_modules(own: &Value, _: &Value) -> bool {
    own.as_array().is_some_and(|list| !list.iter().any(|name| name == "SYS_MODULE" || name == "ALL"))
}

enum ValueLookup<'v> {
    Value(&'v Value),
    /// Something on the way is no map: these keys lead there.
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

fn put(map: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            map.insert(path.to_owned(), value);
        }
        Some((key, rest)) => {
            let below = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(below) = below {
                put(below, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_the_same_to_a_chart_are_no_conflict() {
        assert!(same(&json!("true"), &json!(true)));
        assert!(same(&json!("7445"), &json!(7445)));
        assert!(same(&json!("127.0.0.1"), &json!("localhost")));
        assert!(!same(&json!("10.0.0.1"), &json!("localhost")));
        assert!(!same(&Value::Null, &json!(false)));
        assert!(no_modules(&json!(["NET_ADMIN"]), &Value::Null));
        assert!(!no_modules(&json!(["NET_ADMIN", "SYS_MODULE"]), &Value::Null));
        assert!(!no_modules(&json!({}), &Value::Null));
    }

    #[test]
    fn a_map_that_is_none_is_found_on_the_way() {
        let own = json!({"cgroup": {"autoMount": false}});

        assert!(
            matches!(find(&own, "cgroup.autoMount.enabled"), Some(ValueLookup::Cut(path)) if path == "cgroup.autoMount")
        );
        assert!(find(&own, "cgroup.hostRoot").is_none());
    }
}
