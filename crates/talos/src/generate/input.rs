//! The inputs of a generated configuration, besides the secrets.
//!
//! Not here: settings that follow from the release ([`Contract`](super::Contract)).

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::{Contract, Endpoint};
use ichor_values::KubernetesVersion;

/// All inputs of `talosctl gen config` and the library behind it.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is enabled separately, as in Talos")]
pub struct Input {
    /// The name of the cluster.
    pub cluster_name: String,
    /// The endpoint of the Kubernetes API.
    pub endpoint: Endpoint,
    /// The Talos release to write for.
    pub contract: Contract,
    /// The Kubernetes to run. None writes no images, which the contracts before 1.14 allow.
    pub kubernetes: Option<KubernetesVersion>,
    /// The disk to install to. None leaves it to a patch.
    pub install_disk: Option<String>,
    /// The image that installs. None leaves it to a patch, and from 1.14 on to the running system.
    pub install_image: Option<String>,
    /// Kernel arguments for the installed system. The contracts from 1.14 on have no place for them.
    pub(crate) install_kernel_args: Vec<String>,
    /// More names and addresses for the certificates of Talos and Kubernetes.
    pub sans: Vec<String>,
    /// The DNS domain of services.
    pub dns_domain: String,
    /// The subnets of pod addresses.
    pub pod_subnets: Vec<IpNet>,
    /// The subnets of service addresses.
    pub service_subnets: Vec<IpNet>,
    /// The CNI.
    pub cni: Cni,
    /// The port of the API server on the machine itself, if not 6443.
    pub(crate) local_api_server_port: Option<u16>,
    /// Whether control planes run workloads.
    pub(crate) schedule_on_control_planes: bool,
    /// Whether members find each other by the discovery service.
    pub discovery: bool,
    /// Whether KubeSpan connects the machines; unset if none.
    pub kubespan: Option<bool>,
    /// The port of KubePrism: 0 switches it off, none leaves it to the contract.
    pub kubeprism_port: Option<u16>,
    /// Whether CoreDNS forwards to the host's name server even if the contract disables it.
    pub(crate) forward_kube_dns: bool,
    /// Registries by host.
    pub registries: BTreeMap<String, Registry>,
    /// Kernel settings.
    pub(crate) sysctls: BTreeMap<String, String>,
    /// Whether all services log to the console.
    pub(crate) debug: bool,
    /// Whether the machine keeps its configuration; Talos refuses any other answer.
    pub persist: bool,
    /// Whether to leave out etcd and, where the contract has documents for it, Kubernetes.
    pub skip_kubernetes: bool,
}

/// The CNI that Talos installs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cni {
    /// Flannel, which Talos brings.
    #[default]
    Flannel,
    /// None: the operator installs one later.
    None,
    /// A manifest at this URL.
    Custom(String),
}

/// The endpoints of a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    /// URLs to ask in its place.
    pub mirrors: Vec<String>,
    /// The certificate authority of the registry, as PEM.
    pub ca: Option<String>,
    /// Whether its certificate is not verified.
    pub insecure: bool,
}

impl Input {
    /// Talos' defaults.
    pub fn new(cluster_name: impl Into<String>, endpoint: Endpoint, contract: Contract) -> Self {
        Self {
            cluster_name: cluster_name.into(),
            endpoint,
            contract,
            kubernetes: None,
            install_disk: None,
            install_image: None,
            install_kernel_args: Vec::new(),
            sans: Vec::new(),
            dns_domain: "cluster.local".to_owned(),
            // IPv4 even for an endpoint with an IPv6 address: Talos intends otherwise, but parses the URL of the endpoint as an
            // address.
            pod_subnets: vec!["10.244.0.0/16".parse().expect("a prefix")],
            service_subnets: vec!["10.96.0.0/12".parse().expect("a prefix")],
            cni: Cni::default(),
            local_api_server_port: None,
            schedule_on_control_planes: false,
            discovery: true,
            kubespan: None,
            kubeprism_port: None,
            forward_kube_dns: false,
            registries: BTreeMap::new(),
            sysctls: BTreeMap::new(),
            debug: false,
            persist: true,
            skip_kubernetes: false,
        }
    }
}
