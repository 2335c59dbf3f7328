//! The `cluster` section. The contracts from 1.14 on leave little of it.

use serde_json::{Value, json};

use super::contract::Trait;
use super::kubernetes::{API_SERVER, CONTROLLER_MANAGER, PROXY, SCHEDULER, audit_policy, pod_security};
use super::{Cni, ConfigBuilder};

impl ConfigBuilder<'_> {
    pub(super) fn cluster(self) -> Value {
        match (self.has(Trait::KubernetesDocuments), self.is_control_plane()) {
            (true, _) => json!({"token": self.bootstrap_token(), "etcd": self.etcd()}),
            (false, true) => self.control_plane_section(),
            (false, false) => self.worker_section(),
        }
    }

    fn control_plane_section(self) -> Value {
        let (input, bundle) = (self.input, self.bundle);
        let secretbox = self.has(Trait::Secretbox);
        let scheduling = input.schedule_on_control_planes.then_some(true);
        let control_planes = self.has(Trait::SchedulingOnControlPlanes);
        json!({
            "id": bundle.cluster_id.as_str(),
            "secret": bundle.cluster_secret.as_str(),
            "controlPlane": {
                "endpoint": input.endpoint.as_str(),
                "localAPIServerPort": input.local_api_server_port,
            },
            "clusterName": input.cluster_name,
            "network": self.subnets(),
            "token": self.bootstrap_token(),
            "aescbcEncryptionSecret": bundle.aescbc.as_ref().filter(|_| !secretbox).map(|it| it.as_str()),
            "secretboxEncryptionSecret": bundle.secretbox.as_ref().filter(|_| secretbox).map(|it| it.as_str()),
            "ca": self.authority(&bundle.k8s),
            "aggregatorCA": self.authority(&bundle.aggregator),
            "serviceAccount": {"key": bundle.service_account.base64()},
            "apiServer": self.api_server(),
            "controllerManager": {"image": self.image(CONTROLLER_MANAGER)},
            "proxy": {"image": self.image(PROXY)},
            "scheduler": {"image": self.image(SCHEDULER)},
            "discovery": self.legacy_discovery(),
            "etcd": self.etcd(),
            "allowSchedulingOnMasters": scheduling.filter(|_| !control_planes),
            "allowSchedulingOnControlPlanes": scheduling.filter(|_| control_planes),
        })
    }

    fn worker_section(self) -> Value {
        let (input, bundle) = (self.input, self.bundle);
        json!({
            "id": bundle.cluster_id.as_str(),
            "secret": bundle.cluster_secret.as_str(),
            "controlPlane": {"endpoint": input.endpoint.as_str()},
            "clusterName": self.has(Trait::ClusterNameForWorkers).then_some(&input.cluster_name),
            "network": self.subnets(),
            "token": self.bootstrap_token(),
            "ca": self.authority(&bundle.k8s),
            "discovery": self.legacy_discovery(),
        })
    }

    /// Talos leaves it in a worker's configuration even without Kubernetes.
    fn bootstrap_token(&self) -> Option<&str> {
        let dropped = self.is_control_plane() && self.input.skip_kubernetes;
        (!dropped).then_some(self.bundle.bootstrap_token.as_str())
    }

    fn etcd(self) -> Option<Value> {
        let etcd = self.is_control_plane() && !self.input.skip_kubernetes;
        etcd.then(|| json!({"ca": self.authority(&self.bundle.etcd)}))
    }

    fn subnets(self) -> Value {
        let cni = match &self.input.cni {
            Cni::Flannel => None,
            Cni::None => Some(json!({"name": "none"})),
            Cni::Custom(url) => Some(json!({"name": "custom", "urls": [url]})),
        };
        json!({
            "cni": cni,
            "dnsDomain": self.input.dns_domain,
            "podSubnets": self.input.pod_subnets,
            "serviceSubnets": self.input.service_subnets,
        })
    }

    fn api_server(self) -> Value {
        let sans = self.api_server_sans();
        let pod_security = || json!([{"name": "PodSecurity", "configuration": pod_security()}]);
        json!({
            "image": self.image(API_SERVER),
            "certSANs": (!sans.is_empty()).then_some(sans),
            "disablePodSecurityPolicy": self.has(Trait::DisablePodSecurityPolicy).then_some(true),
            "admissionControl": self.has(Trait::PodSecurityAdmission).then(pod_security),
            "auditPolicy": self.has(Trait::AuditPolicy).then(audit_policy),
        })
    }

    /// The names of the API server's certificate, besides those Talos adds automatically.
    pub(super) fn api_server_sans(self) -> Vec<String> {
        let endpoint = self.has(Trait::EndpointSan).then(|| self.input.endpoint.host().to_owned());
        endpoint.into_iter().chain(self.input.sans.iter().cloned()).collect()
    }

    fn legacy_discovery(self) -> Value {
        let disabled = self.has(Trait::KubernetesRegistryDisabled).then_some(true);
        json!({
            "enabled": self.input.discovery,
            "registries": {"kubernetes": {"disabled": disabled}, "service": {}},
        })
    }
}
