//! `cluster`: names, versions, endpoint, Kubernetes networks.

use std::net::IpAddr;

use ichor_values::key::{List, Map};
use ichor_values::{
    DnsName, Endpoint, FilePath, KubernetesVersion, LinkName, NodeName, Prefix, Secret, SoftwareVersion,
    TalosVersion, Text, Url, Word, WordOrRecord,
};
use ichor_values::{choice, record};

record! {
    /// Names, versions and networks of the cluster.
    ClusterSection "the cluster's settings" {
        /// Name of the cluster.
        name: Word = "required", "sol";
        /// ID of the cluster, from which prefixes, AS numbers and router IDs are derived.
        id: u32 = "required if something is derived from it", "101";
        /// Talos release; nodes may differ during an upgrade.
        talos: TalosVersion = "required", "v1.13.9";
        /// Kubernetes release.
        kubernetes: KubernetesVersion = "the Talos release's default", "v1.36.3";
        /// URL of the Kubernetes API; `overlay:NODE` for an address known only after that node has joined.
        endpoint: Endpoint = "the VIP or anycast address, else the first control plane", "https://10.101.0.10:6443";
        /// Endpoints of the Talos API.
        talos_endpoints: List<DnsName> = "the control planes", "[10.101.0.11]";
        /// The node on which etcd is bootstrapped.
        bootstrap: NodeName = "the first control plane", "solcp01";
        /// Additional names in the API server's certificate.
        sans: List<DnsName> = "none", "[api.sol.example]";
        /// Pod networks.
        pods: List<Prefix> = "10.244.0.0/16", "[10.244.0.0/16, \"fd00:101:244::/56\"]";
        /// Service networks.
        services: List<Prefix> = "10.96.0.0/12", "[172.20.0.0/16, \"fd00:101:96::/112\"]";
        /// CNI, or a custom manifest.
        cni: WordOrRecord<Cni, CniManifest> = "flannel", "cilium";
        /// Settings of flannel.
        flannel: Flannel = "not set", "{interface: tailscale0}";
        /// Settings of Cilium.
        cilium: Cilium = "not set", "{values: values.yaml}";
        /// Whether kube-proxy runs.
        kube_proxy: bool = "true, false with Cilium", "false";
        /// kube-vip instead of Talos' own VIP.
        kube_vip: KubeVip = "not set", "{address: 10.101.0.10, interface: eth0}";
        /// Manifests applied at bootstrap; `*` matches any name.
        manifests: List<FilePath> = "none", "[extra/*.yaml]";
        /// Port of the API load balancer on every node.
        kubeprism: u16 = "7445", "7445";
        /// Node discovery.
        discovery: Discovery = "service on, KubeSpan off", "{service: true, kubespan: false}";
        /// Registry mirrors and credentials.
        registries: Registries = "not set", "{mirrors: {docker.io: [https://mirror.sol]}}";
        /// Talos' ingress firewall.
        firewall: Firewall = "off", "default-deny";
        /// Disk encryption.
        encryption: Encryption = "not set", "{state: tpm, ephemeral: node-id}";
    }
}

choice! {
    /// CNI of the pod network.
    Cni "CNI" {
        /// Talos' default.
        Flannel = "flannel",
        /// Cilium, with the values Talos needs.
        Cilium = "cilium",
        /// None: the CNI is installed separately.
        None = "none",
    }
}

record! {
    /// A custom CNI.
    CniManifest "a manifest" {
        /// Manifest.
        manifest: FilePath = "required", "cni.yaml";
    }
}

record! {
    /// Settings of flannel.
    Flannel "settings of flannel" {
        /// Link of the pod traffic.
        interface: LinkName = "the link of the node address", "tailscale0";
        /// Additional arguments.
        args: List<Text> = "none", "[--ip-masq]";
    }
}

record! {
    /// Settings of Cilium.
    Cilium "settings of Cilium" {
        /// Release of the chart.
        version: SoftwareVersion = "1.20.1", "1.20.1";
        /// Helm values; those Talos needs are added.
        values: FilePath = "not set", "values.yaml";
        /// Name of the chart in its repository, or an `oci://` reference.
        chart: Text = "cilium", "oci://quay.io/cilium/charts/cilium";
        /// Repository of the chart.
        repository: Url = "https://helm.cilium.io/", "https://charts.sol.example";
        /// Manifest rendered elsewhere, instead of with helm.
        manifest: FilePath = "rendered by helm", "cilium.yaml";
    }
}

record! {
    /// kube-vip instead of Talos' own VIP.
    KubeVip "an address and an interface" {
        /// Address.
        address: IpAddr = "required", "10.101.0.10";
        /// Link it is announced on.
        interface: LinkName = "the link of the node address", "eth0";
    }
}

record! {
    /// Node discovery.
    Discovery "discovery settings" {
        /// Whether the discovery service is used.
        service: bool = "true", "true";
        /// URL of a self-hosted discovery service.
        endpoint: Url = "https://discovery.talos.dev", "https://discovery.sol.example";
        /// Whether the nodes form a KubeSpan mesh.
        kubespan: bool = "false", "false";
    }
}

record! {
    /// Registry mirrors and credentials.
    Registries "mirrors and credentials" {
        /// Mirrors by registry.
        mirrors: Map<DnsName, List<Url>> = "none", "{docker.io: [https://mirror.sol]}";
        /// Credentials by registry.
        auth: Map<DnsName, RegistryAuth> = "none", "{ghcr.io: {username: x, password: {env: GHCR}}}";
    }
}

record! {
    /// Credentials of a registry.
    RegistryAuth "credentials" {
        /// User name.
        username: Text = "required", "x";
        /// Password or token.
        password: Secret = "required", "{env: GHCR}";
    }
}

choice! {
    /// Talos' ingress firewall.
    Firewall "firewall setting" {
        /// All traffic is allowed.
        Off = "off",
        /// Only traffic that the cluster needs is allowed.
        DefaultDeny = "default-deny",
    }
}

record! {
    /// Disk encryption.
    Encryption "encryption by partition" {
        /// Key of the STATE partition, which has the machine configuration.
        state: WordOrRecord<DiskKey, Kms> = "not set", "tpm";
        /// Key of the EPHEMERAL partition, which has the workloads' data.
        ephemeral: WordOrRecord<DiskKey, Kms> = "not set", "node-id";
    }
}

choice! {
    /// Key that unlocks a disk.
    DiskKey "disk key" {
        /// The machine's TPM.
        Tpm = "tpm",
        /// Derived from the machine's identity: protects a disk without its machine.
        NodeId = "node-id",
    }
}

record! {
    /// A key server.
    Kms "a key server" {
        /// URL of the key server.
        kms: Url = "required", "https://kms.sol.example:4050";
    }
}
