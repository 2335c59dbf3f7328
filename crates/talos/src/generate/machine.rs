//! The `machine` section.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::contract::Trait;
use super::kubernetes::{EXCLUDE_FROM_LOAD_BALANCERS, KUBELET, KUBEPRISM_PORT};
use super::{ConfigBuilder, MachineRole};
use crate::secrets::Pem;

impl ConfigBuilder<'_> {
    pub(super) fn machine(self) -> Value {
        let input = self.input;
        let sysctls = !input.sysctls.is_empty() && !self.has(Trait::SysctlDocument);
        json!({
            "type": match self.role {
                MachineRole::ControlPlane => "controlplane",
                MachineRole::Worker => "worker",
            },
            "token": self.bundle.trustd_token.as_str(),
            "ca": self.authority(&self.bundle.os),
            "certSANs": input.sans,
            "kubelet": (!self.has(Trait::KubernetesDocuments)).then(|| self.kubelet()),
            "network": self.legacy_network(),
            "install": self.legacy_install(),
            "sysctls": sysctls.then_some(&input.sysctls),
            "registries": self.legacy_registries(),
            "features": self.features(),
            "nodeLabels": self.legacy_labels(),
        })
    }

    fn kubelet(self) -> Value {
        json!({
            "image": self.image(KUBELET),
            "defaultRuntimeSeccompProfileEnabled": self.has(Trait::SeccompByDefault).then_some(true),
            "disableManifestsDirectory": self.has(Trait::NoManifestFolder).then_some(true),
        })
    }

    fn features(self) -> Value {
        let rbac = self.has(Trait::RbacFeature);
        let stable_hostname = self.has(Trait::StableHostname) && !self.has(Trait::NetworkDocuments);
        json!({
            "rbac": rbac.then_some(true),
            "stableHostname": stable_hostname.then_some(true),
            "apidCheckExtKeyUsage": (rbac && self.has(Trait::ApidKeyUsage)).then_some(true),
            "diskQuotaSupport": self.has(Trait::DiskQuota).then_some(true),
            "kubePrism": self.legacy_kubeprism(),
            "hostDNS": (!self.has(Trait::HostDnsDocument)).then(|| self.host_dns()),
        })
    }

    fn legacy_kubeprism(self) -> Option<Value> {
        let default = if self.has(Trait::KubePrism) { KUBEPRISM_PORT } else { 0 };
        let port = self.input.kubeprism_port.unwrap_or(default);
        (port > 0 && !self.has(Trait::KubernetesDocuments)).then(|| json!({"enabled": true, "port": port}))
    }

    /// The host's name server, in the feature as in the document.
    pub(super) fn host_dns(self) -> Option<Value> {
        let forward = self.input.forward_kube_dns || self.has(Trait::ForwardKubeDns);
        self.has(Trait::HostDns)
            .then(|| json!({"enabled": true, "forwardKubeDNSToHost": forward.then_some(true)}))
    }

    fn legacy_labels(self) -> Option<Value> {
        let labels = self.is_control_plane()
            && self.has(Trait::ExcludeFromLoadBalancers)
            && !self.has(Trait::KubernetesDocuments);
        labels.then(|| json!({EXCLUDE_FROM_LOAD_BALANCERS: ""}))
    }

    fn legacy_registries(self) -> Option<Value> {
        if self.has(Trait::NetworkDocuments) {
            return None;
        }
        let mut mirrors = BTreeMap::new();
        if self.has(Trait::AlternateImageRegistries) {
            let endpoints = ["https://registry.k8s.io", "https://k8s.gcr.io"];
            mirrors.insert("k8s.gcr.io".to_owned(), json!({"endpoints": endpoints}));
        }
        let mut config = BTreeMap::new();
        for (host, registry) in &self.input.registries {
            if !registry.mirrors.is_empty() {
                mirrors.insert(host.clone(), json!({"endpoints": registry.mirrors}));
            }
            if registry.ca.is_some() || registry.insecure {
                let tls = json!({
                    "ca": registry.ca.as_ref().map(|ca| Pem::from_bytes(ca.clone().into_bytes()).base64()),
                    "insecureSkipVerify": registry.insecure.then_some(true),
                });
                config.insert(host.clone(), json!({"tls": tls}));
            }
        }
        let some = |map: BTreeMap<String, Value>| (!map.is_empty()).then_some(map);
        let (mirrors, config) = (some(mirrors), some(config));
        (mirrors.is_some() || config.is_some()).then(|| json!({"mirrors": mirrors, "config": config}))
    }
}
