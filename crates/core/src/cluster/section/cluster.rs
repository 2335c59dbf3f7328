//! `cluster`: names, versions, endpoint, Kubernetes networks.

use std::net::IpAddr;

use ichor_values::key::{List, Map};
use ichor_values::{
    DnsName, Either, Endpoint, FilePath, KubernetesVersion, LinkName, NodeName, Prefix, Secret,
    SoftwareVersion, TalosVersion, Text, Url, Word,
};
use ichor_values::{choice, record};

record! {
    /// The cluster as Talos and Kubernetes know it.
    ClusterSection "the cluster's settings" {
        /// Name of the cluster.
        name: Word = "required", "sol";
        /// Number of the cluster, from which prefixes, AS numbers and router ids are derived.
        id: u32 = "required as soon as something is derived from it", "101";
        /// Talos release; nodes may differ while an upgrade runs.
        talos: TalosVersion = "required", "v1.13.9";
        /// Kubernetes release.
        kubernetes: KubernetesVersion = "the Talos release's own", "v1.36.3";
        /// Where the Kubernetes API answers; `overlay:NODE` for an address known only after that node joined.
        endpoint: Endpoint = "the VIP or anycast address, else the first control plane", "https://10.101.0.10:6443";
        /// Where the Talos API is asked.
        talos_endpoints: List<DnsName> = "the control planes", "[10.101.0.11]";
        /// The node on which etcd is bootstrapped.
        bootstrap: NodeName = "the first control plane", "solcp01";
        /// More names for the API server's certificate.
        sans: List<DnsName> = "none", "[api.sol.example]";
        /// Pod networks.
        pods: List<Prefix> = "10.244.0.0/16", "[10.244.0.0/16, \"fd00:101:244::/56\"]";
        /// Service networks.
        services: List<Prefix> = "10.96.0.0/12", "[172.20.0.0/16, \"fd00:101:96::/112\"]";
        /// The pod network's software, or a manifest of one's own.
        cni: Either<Cni, CniManifest> = "flannel", "cilium";
        /// Settings of flannel.
        flannel: Flannel = "none", "{interface: tailscale0}";
        /// Settings of Cilium.
        cilium: Cilium = "none", "{values: values.yaml}";
        /// Whether kube-proxy runs.
        kube_proxy: bool = "true, false with Cilium", "false";
        /// kube-vip in place of Talos' own VIP.
        kube_vip: KubeVip = "none", "{address: 10.101.0.10, interface: eth0}";
        /// Manifests applied at bootstrap; `*` stands for any name.
        manifests: List<FilePath> = "none", "[extra/*.yaml]";
        /// Port of the API balancer on every node.
        kubeprism: u16 = "7445", "7445";
        /// How nodes find each other.
        discovery: Discovery = "service on, KubeSpan off", "{service: true, kubespan: false}";
        /// Registry mirrors and credentials.
        registries: Registries = "none", "{mirrors: {docker.io: [https://mirror.sol]}}";
        /// Talos' ingress firewall.
        firewall: Firewall = "off", "default-deny";
        /// Disk encryption.
        encryption: Encryption = "none", "{state: tpm, ephemeral: node-id}";
    }
}

choice! {
    /// The pod network's software.
    Cni "CNI" {
        /// Talos' default.
        Flannel = "flannel",
        /// Cilium, with the values Talos needs.
        Cilium = "cilium",
        /// None: it is installed by somebody else.
        None = "none",
    }
}

record! {
    /// A pod network of one's own.
    CniManifest "a manifest" {
        /// The manifest.
        manifest: FilePath = "required", "cni.yaml";
    }
}

record! {
    /// Settings of flannel.
    Flannel "settings of flannel" {
        /// Link the pod traffic takes.
        interface: LinkName = "the node address's", "tailscale0";
        /// More arguments.
        args: List<Text> = "none", "[--ip-masq]";
    }
}

record! {
    /// Settings of Cilium.
    Cilium "settings of Cilium" {
        /// Release of the chart.
        version: SoftwareVersion = "1.20.1", "1.20.1";
        /// Helm values; those Talos needs are added.
        values: FilePath = "none", "values.yaml";
        /// Name of the chart in its repository, or `oci://` and its place in a registry.
        chart: Text = "cilium", "oci://quay.io/cilium/charts/cilium";
        /// Repository the chart is in.
        repository: Url = "https://helm.cilium.io/", "https://charts.sol.example";
        /// A manifest that was rendered elsewhere, in place of helm's.
        manifest: FilePath = "rendered by helm", "cilium.yaml";
    }
}

record! {
    /// kube-vip in place of Talos' own VIP.
    KubeVip "an address and an interface" {
        /// The address.
        address: IpAddr = "required", "10.101.0.10";
        /// Link it is announced on.
        interface: LinkName = "the node address's", "eth0";
    }
}

record! {
    /// How nodes find each other.
    Discovery "discovery settings" {
        /// Whether the discovery service is used.
        service: bool = "true", "true";
        /// A discovery service of one's own.
        endpoint: Url = "https://discovery.talos.dev", "https://discovery.sol.example";
        /// Whether KubeSpan meshes the nodes.
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
        /// Everything passes.
        Off = "off",
        /// Only what the cluster needs passes.
        DefaultDeny = "default-deny",
    }
}

record! {
    /// Disk encryption.
    Encryption "encryption by partition" {
        /// Key of the partition that holds the machine's configuration.
        state: Either<DiskKey, Kms> = "none", "tpm";
        /// Key of the partition that holds the workloads' data.
        ephemeral: Either<DiskKey, Kms> = "none", "node-id";
    }
}

choice! {
    /// What unlocks a disk.
    DiskKey "disk key" {
        /// The machine's TPM.
        Tpm = "tpm",
        /// Derived from the machine's identity: keeps out who has only the disk.
        NodeId = "node-id",
    }
}

record! {
    /// A key server.
    Kms "a key server" {
        /// Its URL.
        kms: Url = "required", "https://kms.sol.example:4050";
    }
}
