//! What a node has by itself: where the kubelet and etcd take their addresses from, labels, taints, kernel modules and
//! settings, and the address it is reached by from outside.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Draft, Ground};
use crate::plan::NodePlan;
use ichor_bgp::setting::Isolation;
use ichor_talos::generate::contract::Trait;
use ichor_values::Backend;

/// Kernel settings that a node that routes needs: it forwards, spreads flows over its paths by ports too, and takes answers
/// that come back another way than the question went.
const ROUTING: [(&str, &str); 7] = [
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.fib_multipath_hash_policy", "1"),
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv6.conf.default.forwarding", "1"),
    ("net.ipv6.fib_multipath_hash_policy", "1"),
];

/// Adds it.
pub fn add(draft: &mut Draft, ground: Ground<'_>, node: &NodePlan) {
    kubelet(draft, ground, node);
    if draft.is_control_plane() {
        let subnets: Vec<_> = ground.plan.etcd_subnets(node).value.iter().map(ToString::to_string).collect();
        if !subnets.is_empty() {
            draft.set("cluster.etcd.advertisedSubnets", json!(subnets));
        }
    }
    if let Some(external) = node.settings.address.get().and_then(|address| address.external.get()) {
        draft.set("machine.certSANs", json!([external.to_string()]));
    }
    modules(draft, node);
    sysctls(draft, node);
}

fn kubelet(draft: &mut Draft, ground: Ground<'_>, node: &NodePlan) {
    let subnets: Vec<_> = ground.plan.kubelet_subnets(node).value.iter().map(ToString::to_string).collect();
    let labels: Map<_, _> = node
        .settings
        .labels
        .entries()
        .map(|(key, value)| (key.to_string(), json!(value.value.as_str())))
        .collect();
    let taints: Map<_, _> =
        node.settings.taints.values().filter_map(|taint| taint_entry(taint.as_str())).collect();
    let documents = draft.has(Trait::KubernetesDocuments);
    let mut body = Map::new();
    let mut put = |draft: &mut Draft, document: &str, legacy: &str, value: Value| {
        if documents {
            body.insert(document.to_owned(), value);
        } else {
            draft.set(legacy, value);
        }
    };
    if !subnets.is_empty() {
        put(draft, "nodeIP", "machine.kubelet.nodeIP", json!({"validSubnets": subnets}));
    }
    if !labels.is_empty() {
        put(draft, "labels", "machine.nodeLabels", Value::Object(labels));
    }
    if !taints.is_empty() {
        put(draft, "taints", "machine.nodeTaints", Value::Object(taints));
    }
    if !body.is_empty() {
        draft.document("KubeNodeConfig", Value::Object(body));
    }
}

/// `key=value:Effect` as Talos keeps it: by key, `value:Effect`.
fn taint_entry(taint: &str) -> Option<(String, Value)> {
    let (pair, effect) = taint.rsplit_once(':')?;
    Some(match pair.split_once('=') {
        Some((key, value)) => (key.to_owned(), json!(format!("{value}:{effect}"))),
        None => (pair.to_owned(), json!(effect)),
    })
}

/// Modules that are written, and `vrf` where a VRF is wanted: an extension cannot load it.
fn modules(draft: &mut Draft, node: &NodePlan) {
    let kernel = node.settings.kernel.get();
    let mut modules: Vec<String> =
        kernel.into_iter().flat_map(|kernel| kernel.modules.values()).map(ToString::to_string).collect();
    let vrf = node.routing.as_ref().is_some_and(|routing| {
        routing.backend.value != Backend::Native
            && routing.workload.as_ref().is_some_and(|workload| workload.isolation.value == Isolation::Vrf)
    });
    if vrf && !modules.iter().any(|module| module == "vrf") {
        modules.push("vrf".to_owned());
    }
    if draft.has(Trait::KernelModuleDocument) {
        for module in modules {
            draft.document("KernelModuleConfig", json!({"name": module}));
        }
    } else if !modules.is_empty() {
        let modules: Vec<_> = modules.into_iter().map(|name| json!({"name": name})).collect();
        draft.set("machine.kernel.modules", Value::Array(modules));
    }
}

fn sysctls(draft: &mut Draft, node: &NodePlan) {
    let mut sysctls: BTreeMap<String, String> = BTreeMap::new();
    if node.routing.is_some() {
        sysctls.extend(ROUTING.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    let written = node.settings.kernel.get().into_iter().flat_map(|kernel| kernel.sysctls.entries());
    sysctls.extend(written.map(|(key, value)| (key.to_string(), value.value.to_string())));
    if sysctls.is_empty() {
        return;
    }
    if draft.has(Trait::SysctlDocument) {
        draft.document("SysctlConfig", json!({"params": sysctls}));
    } else {
        // Keys have dots in them, so they are no path.
        draft.set("machine.sysctls", json!(sysctls));
    }
}
