//! The documents of Kubernetes, and the parts they share with the `cluster` section of older contracts.

use serde_json::{Map, Value, json};

use super::contract::Trait;
use super::{Cni, ConfigBuilder, document};
use crate::secrets::{Hidden, Pair};

pub(super) const KUBELET: &str = "ghcr.io/siderolabs/kubelet";
pub(super) const API_SERVER: &str = "registry.k8s.io/kube-apiserver";
pub(super) const CONTROLLER_MANAGER: &str = "registry.k8s.io/kube-controller-manager";
pub(super) const PROXY: &str = "registry.k8s.io/kube-proxy";
pub(super) const SCHEDULER: &str = "registry.k8s.io/kube-scheduler";
pub(super) const EXCLUDE_FROM_LOAD_BALANCERS: &str =
    "node.kubernetes.io/exclude-from-external-load-balancers";
pub(super) const KUBEPRISM_PORT: u16 = 7445;
const CONTROL_PLANE_ROLE: &str = "node-role.kubernetes.io/control-plane";

/// The requirements of the PodSecurity plugin.
pub(super) fn pod_security() -> Value {
    json!({
        "apiVersion": "pod-security.admission.config.k8s.io/v1alpha1",
        "defaults": {
            "audit": "restricted",
            "audit-version": "latest",
            "enforce": "baseline",
            "enforce-version": "latest",
            "warn": "restricted",
            "warn-version": "latest",
        },
        "exemptions": {"namespaces": ["kube-system"], "runtimeClasses": [], "usernames": []},
        "kind": "PodSecurityConfiguration",
    })
}

/// The audit policy of the API server.
pub(super) fn audit_policy() -> Value {
    json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]})
}

impl ConfigBuilder<'_> {
    pub(super) fn kubernetes_documents(self) -> Vec<Value> {
        if self.input.skip_kubernetes || !self.has(Trait::KubernetesDocuments) {
            return Vec::new();
        }
        let mut documents = self.node_documents();
        if self.is_control_plane() {
            documents.extend(self.policy_documents());
            documents.extend(self.component_documents());
        }
        documents
    }

    /// The documents of every machine.
    fn node_documents(self) -> Vec<Value> {
        let input = self.input;
        let cluster = json!({"clusterName": input.cluster_name, "endpoint": input.endpoint.as_str()});
        let kubelet = json!({
            "image": self.image(KUBELET),
            "config": {},
            "defaultRuntimeSeccompProfileEnabled": true,
        });
        let network = json!({
            "dnsDomain": input.dns_domain,
            "podSubnets": input.pod_subnets,
            "serviceSubnets": input.service_subnets,
        });
        let authority = if self.is_control_plane() {
            json!({"issuingCA": issuing(&self.bundle.k8s)})
        } else {
            json!({"acceptedCAs": [self.bundle.k8s.crt.text()]})
        };
        let mut documents = vec![
            document("KubeClusterConfig", cluster),
            self.node_document(),
            document("KubeletConfig", kubelet),
            document("KubeNetworkConfig", network),
            document("KubeAPIServerCAConfig", authority),
        ];
        let port = input.kubeprism_port.unwrap_or(KUBEPRISM_PORT);
        documents.extend((port > 0).then(|| document("KubePrismConfig", json!({"port": port}))));
        documents
    }

    fn node_document(self) -> Value {
        let mut labels = Map::new();
        if self.is_control_plane() {
            labels.insert(CONTROL_PLANE_ROLE.to_owned(), json!(""));
            labels.insert(EXCLUDE_FROM_LOAD_BALANCERS.to_owned(), json!(""));
        }
        let tainted = self.is_control_plane() && !self.input.schedule_on_control_planes;
        let body = json!({
            "nodeIP": {},
            "labels": (!labels.is_empty()).then_some(labels),
            "taints": tainted.then(|| json!({CONTROL_PLANE_ROLE: "NoSchedule"})),
        });
        document("KubeNodeConfig", body)
    }

    /// The documents of authentication and admission on control planes, with their keys.
    fn policy_documents(self) -> Vec<Value> {
        let admission = json!({"name": "PodSecurity", "configuration": pod_security()});
        // Anonymous clients may only query health.
        let paths = ["/livez", "/readyz", "/healthz"].map(|path| json!({"path": path}));
        let authentication = json!({"anonymous": {"conditions": paths, "enabled": true}, "jwt": []});
        let issuer = json!({
            "privateKey": self.bundle.service_account.text(),
            "issuerURL": self.input.endpoint.as_str(),
        });
        vec![
            document("KubeAggregatorCAConfig", json!({"issuingCA": issuing(&self.bundle.aggregator)})),
            document("KubeAdmissionControlConfig", admission),
            document("KubeAuditPolicyConfig", json!({"configuration": audit_policy()})),
            document("KubeAuthenticationConfig", json!({"configuration": authentication})),
            document("KubeAuthorizerConfig", json!({"name": "node", "type": "Node"})),
            document("KubeAuthorizerConfig", json!({"name": "rbac", "type": "RBAC"})),
            document("KubeEtcdEncryptionConfig", json!({"config": self.etcd_encryption()})),
            document("KubeServiceAccountConfig", json!({"issuer": issuer})),
        ]
    }

    fn etcd_encryption(self) -> Value {
        let provider = |name: &str, secret: &Hidden| json!({"secretbox": {"keys": [{"name": name, "secret": secret.as_str()}]}});
        let secretbox = self.bundle.secretbox.as_ref().map(|secret| provider("key2", secret));
        // Talos 1.14.0-rc.1 writes the AES-CBC secret under the secretbox provider too.
        let aescbc = self.bundle.aescbc.as_ref().map(|secret| provider("key1", secret));
        let providers: Vec<_> = secretbox.into_iter().chain(aescbc).collect();
        json!({"resources": [{"providers": providers, "resources": ["secrets"]}]})
    }

    /// The documents of control plane components.
    fn component_documents(self) -> Vec<Value> {
        let sans = self.api_server_sans();
        let api_server = json!({
            "image": self.image(API_SERVER),
            "apiPort": self.input.local_api_server_port,
            "certExtraSANs": (!sans.is_empty()).then_some(sans),
        });
        let flannel =
            || document("KubeFlannelCNIConfig", json!({"backendType": "vxlan", "backendPort": 4789}));
        let manifest = match &self.input.cni {
            Cni::Custom(url) => {
                Some(document("KubeExternalManifestConfig", json!({"name": "custom-cni", "url": url})))
            }
            Cni::Flannel | Cni::None => None,
        };
        let mut documents = vec![
            document("KubeAPIServerConfig", api_server),
            document("KubeControllerManagerConfig", json!({"image": self.image(CONTROLLER_MANAGER)})),
            document("KubeSchedulerConfig", json!({"image": self.image(SCHEDULER), "config": {}})),
            document("KubeProxyConfig", json!({"image": self.image(PROXY), "config": {}})),
        ];
        documents.extend((self.input.cni == Cni::Flannel).then(flannel));
        documents.push(document("KubeCoreDNSConfig", json!({"enabled": true})));
        documents.extend(manifest);
        documents
    }
}

/// A certificate authority as the documents have it: PEM, not base64.
fn issuing(pair: &Pair) -> Value {
    json!({"cert": pair.crt.text(), "key": pair.key.text()})
}
