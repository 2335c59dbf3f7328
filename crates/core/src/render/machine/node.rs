//! What a node has by itself: where the kubelet and etcd take their addresses from, labels, taints, kernel modules and
//! settings, and the address it is reached by from outside.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{ConfigDraft, Ground};
use crate::plan::NodePlan;
use ichor_talos::generate::contract::Trait;

/// Adds it.
pub fn add(draft: &mut ConfigDraft, ground: Ground<'_>, node: &NodePlan) {
    kubelet(draft, ground, node);
    if draft.is_control_plane() {
        let subnets: Vec<_> = ground.plan.etcd_subnets(node).value.iter().map(ToString::to_string).collect();
        if !subnets.is_empty() {
            draft.set("cluster.etcd.advertisedSubnets", json!(subnets));
        }
    }
    if let Some(external) = node.stages.external() {
        draft.set("machine.certSANs", json!([external.to_string()]));
    }
    modules(draft, node);
    sysctls(draft, node);
}

fn kubelet(draft: &mut ConfigDraft, ground: Ground<'_>, node: &NodePlan) {
    let subnets: Vec<_> = ground.plan.kubelet_subnets(node).value.iter().map(ToString::to_string).collect();
    let labels = node.labels.iter().flat_map(|labels| labels.value.iter());
    let labels: Map<_, _> =
        labels.map(|(key, value)| (key.to_string(), json!(value.value.as_str()))).collect();
    let taints = node.taints.iter().flat_map(|taints| taints.value.values());
    let taints: Map<_, _> = taints.filter_map(|taint| taint_entry(taint.as_str())).collect();
    let documents = draft.has(Trait::KubernetesDocuments);
    let mut body = Map::new();
    let mut put = |draft: &mut ConfigDraft, document: &str, legacy: &str, value: Value| {
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

fn modules(draft: &mut ConfigDraft, node: &NodePlan) {
    let modules = node.kernel.modules.iter().map(|module| &module.value);
    if draft.has(Trait::KernelModuleDocument) {
        for module in modules {
            draft.document("KernelModuleConfig", json!({"name": module}));
        }
    } else if !node.kernel.modules.is_empty() {
        let modules: Vec<_> = modules.map(|name| json!({"name": name})).collect();
        draft.set("machine.kernel.modules", Value::Array(modules));
    }
}

fn sysctls(draft: &mut ConfigDraft, node: &NodePlan) {
    let sysctls: BTreeMap<_, _> =
        node.kernel.sysctls.iter().map(|(key, value)| (key, &value.value)).collect();
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
