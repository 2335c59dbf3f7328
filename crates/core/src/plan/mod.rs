//! The plan: every value of every node and its origin.
//!
//! [`plan`] turns a [`Cluster`] into a [`Plan`]. A plan leaves no choice open: values that the file does not have are derived
//! or have a default, and each [`Decided`] value has its [`Origin`]. Values that cannot be derived are in [`Plan::gaps`];
//! rules report them. [`why()`](why::why) explains one value.

mod addon;
mod announced;
pub mod attachment;
pub mod backend;
mod bgp_group;
mod boot;
pub mod cable;
mod cluster;
mod decided;
pub mod derive;
mod hypervisor;
mod interner;
mod kernel;
pub mod link;
pub mod matrix;
mod neighbor;
mod node;
mod node_class;
mod overlay;
pub(crate) mod patch;
pub(crate) mod port_name;
mod route_lookup;
pub mod router;
mod routing;
mod rows;
mod subnet;
mod talos_config;
mod virtual_link;
mod vm;
pub mod why;
mod workload;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::cluster::section::{Addressing, Firewall, NodeSettings, PatchRef, Platform, Power, Role};
use crate::model::Cluster;
pub use addon::{CiliumPlan, CniPlan, KubeVipPlan};
pub use bgp_group::BgpGroup;
pub use boot::{BootPlan, ImagePlan, PrebuiltImagesPlan};
pub use decided::{Decided, Origin};
use derive::Derivation;
pub use hypervisor::{HypervisorPlan, LibvirtPlan, ProxmoxPlan};
use ichor_bgp::setting::Speaker;
use ichor_talos::release;
use ichor_values::Arch;
use ichor_values::Location;
use ichor_values::key::{List, Map};
use ichor_values::{
    Asn, DnsName, Endpoint, KubernetesVersion, LabelKey, LabelValue, LinkName, Mac, Mtu, NodeName, Taint,
    TalosVersion, Text, Url, Word,
};
pub use kernel::KernelPlan;
pub use link::{ConfigStage, LinkKind, LinkPlan, Master, RoutePlan};
pub use neighbor::{BfdPlan, NeighborAddress, NeighborPlan};
pub use node_class::NodeClass;
pub use overlay::{StagePlan, TailscalePlan};
pub use router::RouterPlan;
pub use routing::{PolicyPlan, RoutingPlan};
pub use talos_config::{DiscoveryPlan, EncryptionPlan, RegistriesPlan};
pub use vm::{DEFAULT_BRIDGE, VmPlan};
pub use workload::WorkloadPlan;

/// The decided settings of a cluster.
#[derive(Debug)]
pub struct Plan {
    /// Cluster-wide settings.
    pub cluster: ClusterPlan,
    /// Every node, in the order of the file.
    pub nodes: Vec<NodePlan>,
    /// The nodes with routing, grouped by BGP settings.
    pub(crate) routed: Vec<BgpGroup>,
    /// The nodes, grouped by machine settings.
    pub(crate) classes: Vec<NodeClass>,
    /// The routers of the fabric, in the order of the file.
    pub routers: Vec<RouterPlan>,
    /// The hypervisors, in the order of their names.
    pub hypervisors: Vec<HypervisorPlan>,
    /// Values that cannot be derived.
    pub(crate) gaps: Vec<Gap>,
}

impl Plan {
    /// Whether any node has this speaker of service addresses.
    pub(crate) fn has_speaker(&self, speaker: Speaker) -> bool {
        let workload = |node: &NodePlan| Some(node.routing.as_deref()?.workload.as_ref()?.speaker);
        self.nodes.iter().any(|node| workload(node) == Some(speaker))
    }

    /// The nodes of the control plane.
    pub fn control_planes(&self) -> impl Iterator<Item = &NodePlan> {
        self.nodes.iter().filter(|node| node.role == Role::Controlplane)
    }

    /// Each class of nodes with its first node, which represents all of them.
    pub fn by_class(&self) -> impl Iterator<Item = (&NodePlan, &NodeClass)> {
        self.classes.iter().map(|class| (&self.nodes[class.first()], class))
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<&NodePlan> {
        self.nodes.iter().find(|node| node.name.as_str() == name)
    }
}

/// A value that a rule cannot derive.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    /// Number of the node, or none for the cluster.
    pub node: Option<usize>,
    /// The key that must be written.
    pub key: &'static str,
    /// The rule.
    pub rule: Derivation,
    /// Why it cannot derive the value.
    pub reason: GapReason,
}

/// Why a rule cannot derive a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapReason {
    /// `cluster.id` is not written.
    NoId,
    /// The node has no index.
    NoIndex,
    /// The ID is above the rule's limit.
    IdOver(u32),
    /// The index is above the rule's limit.
    IndexOver(u32),
    /// The address would be outside its prefix, or its first or last.
    OutsidePrefix(IpNet),
    /// The number would be above the last AS number.
    AsnOver,
}

/// Cluster-wide settings.
#[derive(Debug)]
pub struct ClusterPlan {
    /// Name.
    pub name: Word,
    /// ID.
    pub id: Option<u32>,
    /// The oldest Talos release among the nodes, for which configurations are written.
    pub contract: Decided<TalosVersion>,
    /// Talos release of nodes without their own.
    pub talos: TalosVersion,
    /// Kubernetes release; none for an unknown Talos release.
    pub kubernetes: Option<Decided<KubernetesVersion>>,
    /// URL of the Kubernetes API.
    pub endpoint: Option<Decided<Endpoint>>,
    /// Endpoints of the Talos API.
    pub(crate) talos_endpoints: Decided<Vec<String>>,
    /// The node on which etcd is bootstrapped.
    pub bootstrap: Option<Decided<NodeName>>,
    /// Additional names in the API server's certificate.
    pub sans: Option<Decided<List<DnsName>>>,
    /// Pod networks.
    pub(crate) pods: Decided<Vec<IpNet>>,
    /// Service networks.
    pub services: Decided<Vec<IpNet>>,
    /// The CNI.
    pub cni: Decided<CniPlan>,
    /// Additional arguments of flannel.
    pub(crate) flannel_args: Option<Decided<List<Text>>>,
    /// Cilium's chart, if Cilium is the CNI.
    pub cilium: Option<CiliumPlan>,
    /// Whether kube-proxy runs.
    pub(crate) kube_proxy: Decided<bool>,
    /// kube-vip, if it holds the address of the API.
    pub(crate) kube_vip: Option<KubeVipPlan>,
    /// Port of the API load balancer on every node.
    pub(crate) kubeprism: Decided<u16>,
    /// Node discovery.
    pub discovery: DiscoveryPlan,
    /// Registry mirrors and credentials.
    pub registries: RegistriesPlan,
    /// Talos' ingress firewall.
    pub(crate) firewall: Decided<Firewall>,
    /// Disk encryption.
    pub(crate) encryption: EncryptionPlan,
    /// Prefixes of the nodes' addresses, cluster-wide.
    pub node: Prefixes,
    /// Prefixes of the nodes' loopbacks, cluster-wide.
    pub loopback: Prefixes,
    /// The VIP, which one control plane holds at a time.
    pub vip: Option<Decided<IpAddr>>,
    /// The anycast addresses, which every control plane announces.
    pub anycast: Vec<Decided<IpNet>>,
    /// Addresses for Kubernetes services, by pool.
    pub pools: Vec<(Word, Vec<Decided<IpNet>>)>,
    /// DHCP relays by site.
    pub(crate) relays: BTreeMap<Word, Decided<IpAddr>>,
    /// Subnets that the kubelet may use an address of, cluster-wide; [`Plan::kubelet_subnets`] has a node's.
    pub(crate) kubelet_subnets: Decided<Vec<IpNet>>,
    /// Subnets that etcd may use an address of, cluster-wide; [`Plan::etcd_subnets`] has a node's.
    pub(crate) etcd_subnets: Decided<Vec<IpNet>>,
}

/// An IPv4 and an IPv6 prefix.
#[derive(Clone, Debug, Default)]
pub struct Prefixes {
    /// IPv4.
    pub v4: Option<Decided<Ipv4Net>>,
    /// IPv6.
    pub v6: Option<Decided<Ipv6Net>>,
}

impl Prefixes {
    /// The prefixes that are set.
    pub fn iter(&self) -> impl Iterator<Item = (IpNet, Origin)> {
        let v4 = self.v4.as_ref().map(|v4| (IpNet::V4(v4.value), v4.origin));
        let v6 = self.v6.as_ref().map(|v6| (IpNet::V6(v6.value), v6.origin));
        v4.into_iter().chain(v6)
    }
}

/// The decided settings of one node.
#[derive(Debug)]
pub struct NodePlan {
    /// Its position among the nodes, from 0.
    pub nth: usize,
    /// Name, which becomes the hostname.
    pub name: NodeName,
    /// Its place in the file.
    pub place: Location,
    /// Role in the cluster.
    pub role: Role,
    /// Its index.
    pub index: Option<u32>,
    /// Its site.
    pub site: Option<Word>,
    /// Its groups.
    pub(crate) groups: Vec<Word>,
    /// Talos platform.
    pub platform: Decided<Platform>,
    /// Architecture.
    pub arch: Decided<Arch>,
    /// Talos release.
    pub talos: Decided<TalosVersion>,
    /// Its ports, in order.
    pub ports: Vec<PortPlan>,
    /// Its addresses with their prefix length.
    pub address: Prefixes,
    /// Link of the node addresses.
    pub link: Decided<LinkName>,
    /// Source of the node addresses.
    pub addressing: Decided<Addressing>,
    /// Default gateways.
    pub gateway: Gateways,
    /// Loopback addresses, /32 and /128.
    pub loopback: Prefixes,
    /// Dummy links.
    pub dummies: Vec<DummyPlan>,
    /// The VIP of Talos; none on workers, and none with kube-vip.
    pub vip: Option<VipPlan>,
    /// Whether links are written for Talos 1.11, because the oldest node of the cluster runs it.
    pub(crate) old_links: bool,
    /// AS number.
    pub asn: Option<Decided<Asn>>,
    /// BGP router ID.
    pub router_id: Option<Decided<Ipv4Addr>>,
    /// BGP settings, if the node has routing; shared by its BGP group.
    pub routing: Option<Arc<RoutingPlan>>,
    /// Boot settings.
    pub boot: BootPlan,
    /// Its virtual machine.
    pub vm: Option<Box<VmPlan>>,
    /// Remote power control of a physical machine.
    pub power: Option<Box<Decided<Power>>>,
    /// Name servers; the default is Talos'.
    pub(crate) name_servers: Option<Decided<List<IpAddr>>>,
    /// Time servers; the default is Talos'.
    pub(crate) time_servers: Option<Decided<List<DnsName>>>,
    /// MTU of links without their own; the default is the kernel's.
    pub mtu: Option<Decided<Mtu>>,
    /// Metric of the default routes.
    pub metric: Decided<u32>,
    /// URL of the API's health check, if anycast addresses of the node depend on it.
    pub health: Option<Decided<Url>>,
    /// Its addresses before the final configuration, and in the overlay.
    pub stages: StagePlan,
    /// Its overlay.
    pub tailscale: Option<Box<TailscalePlan>>,
    /// Kernel arguments, modules and sysctls.
    pub kernel: KernelPlan,
    /// Kubernetes labels.
    pub labels: Option<Decided<Map<LabelKey, LabelValue>>>,
    /// Kubernetes taints.
    pub taints: Option<Decided<List<Taint>>>,
    /// Patches of its configuration, in the order of application.
    pub patches: Vec<Decided<PatchRef>>,
    /// Whether it is drained and withdraws all routes.
    pub drain: Decided<bool>,
    settings: NodeSettings,
}

impl NodePlan {
    /// Its final address: IPv4 if possible, a loopback if its ports have no address.
    pub fn main_address(&self) -> Option<IpAddr> {
        [&self.address, &self.loopback].into_iter().find_map(|prefixes| {
            let v4 = prefixes.v4.as_ref().map(|v4| IpAddr::V4(v4.value.addr()));
            v4.or_else(|| prefixes.v6.as_ref().map(|v6| IpAddr::V6(v6.value.addr())))
        })
    }

    /// Whether it joins an overlay.
    pub(crate) fn joins_overlay(&self) -> bool {
        self.tailscale.is_some()
    }

    /// The node's keys as in the file, for rules only.
    ///
    /// A lint rejects every other call: renderers and operations use the plan's values, which have defaults and origins.
    pub(crate) fn file_keys(&self) -> &NodeSettings {
        &self.settings
    }

    /// The path of `key` on the node itself.
    pub fn path(&self, key: &str) -> String {
        if key.is_empty() { format!("nodes.{}", self.name) } else { format!("nodes.{}.{key}", self.name) }
    }

    /// Where a value of this origin is written, else the place of the node.
    pub(crate) fn place_of(&self, origin: Origin) -> Location {
        match origin {
            Origin::Written(place) => place,
            Origin::Derived(..) | Origin::Default(_) => self.place,
        }
    }
}

/// Default gateways.
#[derive(Clone, Debug, Default)]
pub struct Gateways {
    /// IPv4.
    pub v4: Option<Decided<Ipv4Addr>>,
    /// IPv6.
    pub v6: Option<Decided<Ipv6Addr>>,
}

/// A network port.
#[derive(Clone, Debug)]
pub struct PortPlan {
    /// Its name; the default is the kernel's.
    pub name: LinkName,
    /// Its MAC address.
    pub mac: Option<Decided<Mac>>,
}

/// A dummy link for addresses of host services.
#[derive(Clone, Debug)]
pub struct DummyPlan {
    /// Its name.
    pub name: LinkName,
    /// Its addresses, /32 and /128.
    pub address: Prefixes,
    /// Whether its addresses are anycast addresses.
    pub anycast: bool,
}

/// The VIP of Talos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VipPlan {
    /// The address.
    pub address: IpAddr,
    /// Link with the address.
    pub link: LinkName,
}

/// Decides all settings of `cluster`.
pub fn plan(cluster: &Cluster) -> Plan {
    let mut gaps = Vec::new();
    let mut routes = bgp_group::BgpPlanner::default();
    let prefixes = cluster::prefixes(cluster, &mut gaps);
    let mut nodes: Vec<_> = (0..cluster.nodes().len())
        .map(|nth| node::plan(cluster, &prefixes, nth, &mut routes, &mut gaps))
        .collect();
    let classes = node_class::node_classes(&nodes);
    let file = &cluster.file;
    let routers = router::plan(cluster);
    let cluster = cluster::plan(cluster, prefixes, &nodes);
    vm::assign_hosts(file, &mut nodes);
    for node in &mut nodes {
        node.old_links = !release::at_least(&cluster.contract.value, 12);
    }
    Plan {
        cluster,
        nodes,
        classes,
        routed: routes.planned,
        routers,
        hypervisors: hypervisor::plan(file),
        gaps,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Plan;
    use crate::cluster::{FileError, Files, load};
    use crate::model::{Cluster, validate};

    struct TestFile(&'static str);

    impl Files for TestFile {
        fn read(&mut self, _: &str) -> Result<Vec<u8>, FileError> {
            Ok(self.0.into())
        }

        fn find(&mut self, _: &str) -> Result<Vec<String>, FileError> {
            Ok(Vec::new())
        }
    }

    /// The plan of a valid text.
    pub(crate) fn planned(text: &'static str) -> Plan {
        planned_with(text).1
    }

    /// The cluster and plan of a valid text.
    pub(crate) fn planned_with(text: &'static str) -> (Cluster, Plan) {
        let loaded = load("ichor.yaml", &mut TestFile(text));
        let cluster = validate(loaded.file, loaded.problems).unwrap();
        let plan = super::plan(&cluster);
        (cluster, plan)
    }
}
