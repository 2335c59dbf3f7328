//! What all nodes of a role have beyond what Talos' generator writes: kube-proxy, the CNI, discovery, manifests, registry
//! credentials and disk encryption.

use serde_json::{Value, json};

use super::{ConfigDraft, Ground, base};
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

/// Adds it.
pub fn add(draft: &mut ConfigDraft, ground: Ground<'_>, errors: &mut Vec<Issue>) {
    if draft.is_control_plane() {
        kube_proxy(draft, ground);
        flannel(draft, ground);
        inline_manifests(draft, ground, errors);
    }
    talos_names(draft, ground);
    cni(draft, ground);
    discovery(draft, ground);
    registry_credentials(draft, ground, errors);
    encryption(draft, ground);
}

/// Names the Talos API is asked by, which its certificate has to have.
fn talos_names(draft: &mut ConfigDraft, ground: Ground<'_>) {
    let plan = &ground.plan.cluster;
    let known = base::sans(ground);
    let is_node = |name: &str| {
        let address = name.parse().ok();
        address.is_some() && ground.plan.nodes.iter().any(|node| node.main_address() == address)
    };
    let names: Vec<&String> =
        plan.talos_endpoints.value.iter().filter(|name| !known.contains(name) && !is_node(name)).collect();
    if !names.is_empty() {
        draft.set("machine.certSANs", json!(names));
    }
}

fn kube_proxy(draft: &mut ConfigDraft, ground: Ground<'_>) {
    if ground.plan.cluster.kube_proxy.value {
        return;
    }
    if draft.has(Trait::KubernetesDocuments) {
        draft.document("KubeProxyConfig", json!({"enabled": false}));
    } else {
        draft.set("cluster.proxy.disabled", json!(true));
    }
}

/// A CNI that Talos does not bring: before 1.14 it has to be told so, later it brings none unless told.
fn cni(draft: &mut ConfigDraft, ground: Ground<'_>) {
    let brings = matches!(ground.plan.cluster.cni.value, CniPlan::Flannel(_));
    if !brings && !draft.has(Trait::KubernetesDocuments) {
        draft.set("cluster.network.cni.name", json!("none"));
    }
}

fn flannel(draft: &mut ConfigDraft, ground: Ground<'_>) {
    let CniPlan::Flannel(interface) = &ground.plan.cluster.cni.value else { return };
    let written = ground.plan.cluster.flannel_args.iter();
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

/// Manifests that Talos applies when the cluster is made: Cilium as helm rendered it, kube-vip, and those of the file.
fn inline_manifests(draft: &mut ConfigDraft, ground: Ground<'_>, errors: &mut Vec<Issue>) {
    if chart::ChartRequest::of(ground.plan, ground.attachments).is_some() {
        match ground.cilium {
            Ok(text) => inline_manifest(draft, CILIUM, text),
            Err(reason) => errors.push(Issue::error("cluster.cni", reason)),
        }
    }
    cilium_bgp(draft, ground, errors);
    match kube_vip::objects(ground.plan) {
        Ok(objects) if objects.is_empty() => {}
        Ok(objects) => inline_manifest(draft, KUBE_VIP, &emit_all(&objects)),
        Err(error) => errors.push(error),
    }
    for file in attachment::manifests(ground.cluster, ground.plan, ground.attachments) {
        match ground.attachments.texts.get(&file.path) {
            Some(Ok(text)) => inline_manifest(draft, file.stem(), text),
            Some(Err(reason)) => errors.push(Issue::error(file.key, format!("{}: {reason}", file.path))),
            None => errors.push(Issue::error(file.key, format!("{} was not read", file.path))),
        }
    }
}

/// What Cilium is told of BGP, where the cluster brings Cilium. Its operator makes the kinds of these objects when it starts; Talos
/// passes over objects of unknown kinds, and tries again until there are none.
fn cilium_bgp(draft: &mut ConfigDraft, ground: Ground<'_>, errors: &mut Vec<Issue>) {
    let plan = ground.plan;
    if plan.cluster.cni.value != CniPlan::Cilium || !plan.has_speaker(Speaker::Cilium) {
        return;
    }
    match BgpTopology::of(ground.cluster, plan) {
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

fn discovery(draft: &mut ConfigDraft, ground: Ground<'_>) {
    let discovery = &ground.plan.cluster.discovery;
    let endpoint = discovery.endpoint.as_ref().filter(|_| discovery.service.value);
    let Some(endpoint) = endpoint.map(|endpoint| &endpoint.value) else { return };
    if draft.has(Trait::DiscoveryDocuments) {
        draft.document("DiscoveryServiceConfig", json!({"name": "default", "endpoint": endpoint.as_str()}));
    } else {
        draft.set("cluster.discovery.registries.service.endpoint", json!(endpoint.as_str()));
    }
}

fn registry_credentials(draft: &mut ConfigDraft, ground: Ground<'_>, errors: &mut Vec<Issue>) {
    let registries = &ground.plan.cluster.registries;
    for (host, auth) in registries.auth.iter().flat_map(|auth| auth.value.iter()) {
        let key = format!("cluster.registries.auth.{host}.password");
        let (Some(username), Some(password)) = (auth.value.username.get(), auth.value.password.get()) else {
            continue;
        };
        let password = match (ground.secret)(password) {
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
            // The host has dots in it, so it is no path.
            let mut config = serde_json::Map::new();
            config.insert(host.to_string(), json!({"auth": auth}));
            draft.set("machine.registries.config", Value::Object(config));
        }
    }
}

fn encryption(draft: &mut ConfigDraft, ground: Ground<'_>) {
    let encryption = &ground.plan.cluster.encryption;
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
