//! Settings of a single node: subnets of the kubelet and etcd, labels, taints, kernel modules, sysctls, and its external
//! address.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{ConfigDraft, RenderInputs};
use crate::plan::NodePlan;
use ichor_talos::generate::contract::Trait;

/// Adds the settings.
pub fn add(draft: &mut ConfigDraft, inputs: RenderInputs<'_>, node: &NodePlan) {
    kubelet(draft, inputs, node);
    if draft.is_control_plane() {
        let subnets: Vec<_> =
            inputs.plan.etcd_advertised_subnets(node).iter().map(ToString::to_string).collect();
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

fn kubelet(draft: &mut ConfigDraft, inputs: RenderInputs<'_>, node: &NodePlan) {
    let subnets: Vec<_> = inputs.plan.kubelet_subnets(node).value.iter().map(ToString::to_string).collect();
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

/// Splits `key=value:Effect` into Talos' form: the key, and `value:Effect`.
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
        // Keys contain dots, so `set` cannot be used for each.
        draft.set("machine.sysctls", json!(sysctls));
    }
}
