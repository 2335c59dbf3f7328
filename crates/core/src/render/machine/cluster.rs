//! Settings that all nodes of a role share, beyond Talos' generated configuration: kube-proxy, the CNI, discovery, manifests,
//! registry credentials and disk encryption.

use serde_json::{Value, json};

use super::{ConfigDraft, RenderInputs, generated};
use crate::cluster::section::{DiskKey, Kms};
use crate::plan::CniPlan;
use crate::plan::attachment;
use crate::render::chart;
use crate::render::manifests::{self, CILIUM, CILIUM_BGP, KUBE_VIP, kube_vip};
use crate::routing::BgpTopology;
use ichor_bgp::setting::Speaker;
use ichor_talos::generate::contract::Trait;
use ichor_values::go_yaml::emit::emit_all;
use ichor_values::{Issue, WordOrRecord};

/// Adds the settings.
pub fn add(draft: &mut ConfigDraft, inputs: RenderInputs<'_>, errors: &mut Vec<Issue>) {
    if draft.is_control_plane() {
        kube_proxy(draft, inputs);
        flannel(draft, inputs);
        inline_manifests(draft, inputs, errors);
    }
    talos_names(draft, inputs);
    cni(draft, inputs);
    discovery(draft, inputs);
    registry_credentials(draft, inputs, errors);
    encryption(draft, inputs);
}

/// Adds the names of the Talos endpoints to the certificate of the Talos API.
fn talos_names(draft: &mut ConfigDraft, inputs: RenderInputs<'_>) {
    let plan = &inputs.plan.cluster;
    let known = generated::sans(inputs);
    let is_node = |name: &str| {
        let address = name.parse().ok();
        address.is_some() && inputs.plan.nodes.iter().any(|node| node.main_address() == address)
    };
    let names: Vec<&String> =
        plan.talos_endpoints.value.iter().filter(|name| !known.contains(name) && !is_node(name)).collect();
    if !names.is_empty() {
        draft.set("machine.certSANs", json!(names));
    }
}

fn kube_proxy(draft: &mut ConfigDraft, inputs: RenderInputs<'_>) {
    if inputs.plan.cluster.kube_proxy.value {
        return;
    }
    if draft.has(Trait::KubernetesDocuments) {
        draft.document("KubeProxyConfig", json!({"enabled": false}));
    } else {
        draft.set("cluster.proxy.disabled", json!(true));
    }
}

/// Disables Talos' CNI if another one is used: before 1.14 it is enabled by default, later it is not.
fn cni(draft: &mut ConfigDraft, inputs: RenderInputs<'_>) {
    let is_flannel = matches!(inputs.plan.cluster.cni.value, CniPlan::Flannel(_));
    if !is_flannel && !draft.has(Trait::KubernetesDocuments) {
        draft.set("cluster.network.cni.name", json!("none"));
    }
}

fn flannel(draft: &mut ConfigDraft, inputs: RenderInputs<'_>) {
    let CniPlan::Flannel(interface) = &inputs.plan.cluster.cni.value else { return };
    let written = inputs.plan.cluster.flannel_args.iter();
    let written = written.flat_map(|args| args.value.values()).map(ToString::to_string);
    let args: Vec<String> = interface.iter().map(|link| format!("--iface={link}")).chain(written).collect();
    if args.is_empty() {
        return;
    }
    if draft.has(Trait::KubernetesDocuments) {
        draft.document("KubeFlannelCNIConfig", json!({"extraArgs": args}));
    } else {
        draft.set("cluster.network.cni", json!({"name": "flannel", "flannel": {"extraArgs": args}}));
    }
}

/// Adds manifests that Talos applies at bootstrap: the rendered Cilium chart, kube-vip, and those of the file.
fn inline_manifests(draft: &mut ConfigDraft, inputs: RenderInputs<'_>, errors: &mut Vec<Issue>) {
    if chart::ChartRequest::from_plan(inputs.plan, inputs.attachments).is_some() {
        match inputs.cilium {
            Ok(text) => inline_manifest(draft, CILIUM, text),
            Err(reason) => errors.push(Issue::error("cluster.cni", reason)),
        }
    }
    cilium_bgp(draft, inputs, errors);
    match kube_vip::objects(inputs.plan) {
        Ok(objects) if objects.is_empty() => {}
        Ok(objects) => inline_manifest(draft, KUBE_VIP, &emit_all(&objects)),
        Err(error) => errors.push(error),
    }
    for file in attachment::manifests(inputs.cluster, inputs.plan, inputs.attachments) {
        match inputs.attachments.texts.get(&file.path) {
            Some(Ok(text)) => inline_manifest(draft, file.stem(), text),
            Some(Err(reason)) => errors.push(Issue::error(file.key, format!("{}: {reason}", file.path))),
            None => errors.push(Issue::error(file.key, format!("{} was not read", file.path))),
        }
    }
}

/// Adds Cilium's BGP objects if Cilium is the CNI. Its operator creates their CRDs when it starts; Talos skips objects of
/// unknown kinds and retries until all are applied.
fn cilium_bgp(draft: &mut ConfigDraft, inputs: RenderInputs<'_>, errors: &mut Vec<Issue>) {
    let plan = inputs.plan;
    if plan.cluster.cni.value != CniPlan::Cilium || !plan.has_speaker(Speaker::Cilium) {
        return;
    }
    match BgpTopology::from_plan(inputs.cluster, plan) {
        Ok(network) => inline_manifest(draft, CILIUM_BGP, &emit_all(&manifests::cilium_bgp(plan, &network))),
        Err(wrong) => errors.extend(wrong),
    }
}

fn inline_manifest(draft: &mut ConfigDraft, name: &str, text: &str) {
    if draft.has(Trait::KubernetesDocuments) {
        draft.document("KubeInlineManifestConfig", json!({"name": name, "manifest": text}));
    } else {
        draft.set("cluster.inlineManifests", json!([{"name": name, "contents": text}]));
    }
}

fn discovery(draft: &mut ConfigDraft, inputs: RenderInputs<'_>) {
    let discovery = &inputs.plan.cluster.discovery;
    let endpoint = discovery.endpoint.as_ref().filter(|_| discovery.service.value);
    let Some(endpoint) = endpoint.map(|endpoint| &endpoint.value) else { return };
    if draft.has(Trait::DiscoveryDocuments) {
        draft.document("DiscoveryServiceConfig", json!({"name": "default", "endpoint": endpoint.as_str()}));
    } else {
        draft.set("cluster.discovery.registries.service.endpoint", json!(endpoint.as_str()));
    }
}

fn registry_credentials(draft: &mut ConfigDraft, inputs: RenderInputs<'_>, errors: &mut Vec<Issue>) {
    let registries = &inputs.plan.cluster.registries;
    for (host, auth) in registries.auth.iter().flat_map(|auth| auth.value.iter()) {
        let key = format!("cluster.registries.auth.{host}.password");
        let (Some(username), Some(password)) = (auth.value.username.get(), auth.value.password.get()) else {
            continue;
        };
        let password = match (inputs.secret)(password) {
            Ok(password) => password,
            Err(error) => {
                errors.push(Issue::error(key, error.to_string()));
                continue;
            }
        };
        let auth = json!({"username": username.as_str(), "password": password});
        if draft.has(Trait::NetworkDocuments) {
            let mut body = json!({"name": host.as_str()});
            if let (Value::Object(body), Value::Object(auth)) = (&mut body, auth) {
                body.extend(auth);
            }
            draft.document("RegistryAuthConfig", body);
        } else {
            // The host contains dots, so `set` cannot be used for it.
            let mut config = serde_json::Map::new();
            config.insert(host.to_string(), json!({"auth": auth}));
            draft.set("machine.registries.config", Value::Object(config));
        }
    }
}

fn encryption(draft: &mut ConfigDraft, inputs: RenderInputs<'_>) {
    let encryption = &inputs.plan.cluster.encryption;
    for (partition, name, key) in
        [("state", "STATE", &encryption.state), ("ephemeral", "EPHEMERAL", &encryption.ephemeral)]
    {
        let Some(key) = key else { continue };
        let spec = json!({"provider": "luks2", "keys": [disk_key(&key.value)]});
        if draft.has(Trait::VolumeEncryptionDocument) {
            draft.document("VolumeConfig", json!({"name": name, "encryption": spec}));
        } else {
            draft.set(&format!("machine.systemDiskEncryption.{partition}"), spec);
        }
    }
}

fn disk_key(key: &WordOrRecord<DiskKey, Kms>) -> Value {
    match key {
        WordOrRecord::Word(DiskKey::Tpm) => json!({"slot": 0, "tpm": {}}),
        WordOrRecord::Word(DiskKey::NodeId) => json!({"slot": 0, "nodeID": {}}),
        WordOrRecord::Record(server) => {
            json!({"slot": 0, "kms": {"endpoint": server.kms.get().map_or("", |url| url.as_str())}})
        }
    }
}
