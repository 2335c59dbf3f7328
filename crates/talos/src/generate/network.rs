//! Names, registries, discovery and KubeSpan.

use serde_json::{Value, json};

use super::contract::Trait;
use super::{ConfigBuilder, document};

/// The discovery service that Sidero Labs runs.
const DISCOVERY_SERVICE: &str = "https://discovery.talos.dev/";

impl ConfigBuilder<'_> {
    /// `machine.network`, which the contracts that have it write even when it is empty.
    pub(super) fn legacy_network(self) -> Option<Value> {
        let kubespan = self.input.kubespan.map(|enabled| json!({"enabled": enabled}));
        (!self.has(Trait::KubeSpanDocument)).then(|| json!({"kubespan": kubespan}))
    }

    pub(super) fn discovery_documents(self) -> Vec<Value> {
        if !self.has(Trait::DiscoveryDocuments) {
            return Vec::new();
        }
        let service = json!({"name": "default", "endpoint": DISCOVERY_SERVICE});
        let identity = json!({
            "clusterID": self.bundle.cluster_id.as_str(),
            "clusterSecret": self.bundle.cluster_secret.as_str(),
        });
        let service = self.input.discovery.then(|| document("DiscoveryServiceConfig", service));
        service.into_iter().chain([document("DiscoveryIdentityConfig", identity)]).collect()
    }

    pub(super) fn resolver_document(self) -> Option<Value> {
        let host_dns = self.host_dns().filter(|_| self.has(Trait::HostDnsDocument))?;
        Some(document("ResolverConfig", json!({"hostDNS": host_dns})))
    }

    /// All mirrors, then all certificate authorities, each by host.
    pub(super) fn registry_documents(self) -> Vec<Value> {
        if !self.has(Trait::NetworkDocuments) {
            return Vec::new();
        }
        let registries = &self.input.registries;
        let mirrored = registries.iter().filter(|(_, registry)| !registry.mirrors.is_empty());
        let mirrors = mirrored.map(|(host, registry)| {
            let endpoints: Vec<_> = registry.mirrors.iter().map(|url| json!({"url": url})).collect();
            document("RegistryMirrorConfig", json!({"name": host, "endpoints": endpoints}))
        });
        let trusted = registries.iter().filter(|(_, registry)| registry.ca.is_some() || registry.insecure);
        let authorities = trusted.map(|(host, registry)| {
            let insecure = registry.insecure.then_some(true);
            let body = json!({"name": host, "ca": registry.ca, "insecureSkipVerify": insecure});
            document("RegistryTLSConfig", body)
        });
        mirrors.chain(authorities).collect()
    }

    pub(super) fn network_documents(self) -> Vec<Value> {
        let hostname =
            self.has(Trait::NetworkDocuments).then(|| document("HostnameConfig", json!({"auto": "stable"})));
        let kubespan = self.input.kubespan.filter(|_| self.has(Trait::KubeSpanDocument));
        let kubespan = kubespan.map(|enabled| document("KubeSpanConfig", json!({"enabled": enabled})));
        hostname.into_iter().chain(kubespan).collect()
    }
}
