//! Everything decided: what each node will be, with the reason for every value.
//!
//! [`plan`] turns a [`Cluster`] into a [`Plan`]. A plan leaves no choice open: what a file does not say is derived or
//! has a default, and each [`Decided`] value knows which ([`Origin`]). What could not be derived is listed in
//! [`Plan::gaps`]; rules make findings of them. [`why()`](why::why) explains one value.

mod addon;
mod alike;
mod announced;
pub mod attachment;
pub mod backend;
mod boot;
pub mod cable;
mod cluster;
mod decided;
pub mod derive;
mod hypervisor;
mod kernel;
mod kind;
pub mod link;
mod made_link;
pub mod matrix;
mod neighbor;
mod node;
mod overlay;
pub(crate) mod patch;
pub(crate) mod port_name;
mod route;
pub mod router;
mod routing;
mod rows;
mod subnet;
mod talos_config;
mod vm;
mod way;
pub mod why;
mod workload;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::cluster::section::{Addressing, Firewall, Patch, Platform, Power, Role, Rung};
use crate::model::Cluster;
pub use addon::{CiliumPlan, CniPlan, KubeVipPlan};
pub use boot::{BootPlan, GivenPlan, ImagePlan};
pub use decided::{Decided, Origin};
use derive::Rule;
pub use hypervisor::{HypervisorPlan, LibvirtPlan, ProxmoxPlan};
use ichor_bgp::setting::Speaker;
use ichor_talos::release;
use ichor_values::Arch;
use ichor_values::Place;
use ichor_values::key::{List, Map};
use ichor_values::{
    Asn, DnsName, Endpoint, KubernetesVersion, LabelKey, LabelValue, LinkName, Mac, Mtu, NodeName, Taint,
    TalosVersion, Text, Url, Word,
};
pub use kernel::KernelPlan;
pub use kind::Kind;
pub use link::{LinkKind, LinkPlan, Master, RoutePlan, Stage};
pub use neighbor::{BfdPlan, NeighborPlan, Peer};
pub use overlay::{StagePlan, TailscalePlan};
pub use route::RoutedNodes;
pub use router::RouterPlan;
pub use routing::{PolicyPlan, RoutingPlan};
pub use talos_config::{DiscoveryPlan, EncryptionPlan, RegistriesPlan};
pub use vm::{DEFAULT_BRIDGE, VmPlan};
pub use workload::WorkloadPlan;

/// The whole cluster, decided.
#[derive(Debug)]
pub struct Plan {
    /// What holds for the cluster as a whole.
    pub cluster: ClusterPlan,
    /// Every node, in the order of the file.
    pub nodes: Vec<NodePlan>,
    /// Those that route, by how they do.
    pub(crate) routed: Vec<RoutedNodes>,
    /// The nodes again, sorted into those that are alike.
    pub(crate) kinds: Vec<Kind>,
    /// The routers of the fabric, in the order of the file.
    pub routers: Vec<RouterPlan>,
    /// Where virtual machines are made, in the order of the names.
    pub hypervisors: Vec<HypervisorPlan>,
    /// What should have been derived and could not.
    pub(crate) gaps: Vec<Gap>,
}

impl Plan {
    /// Whether some node has this speaker of service addresses.
    pub(crate) fn has_speaker(&self, speaker: Speaker) -> bool {
        let workload = |node: &NodePlan| Some(node.routing.as_deref()?.workload.as_ref()?.speaker);
        self.nodes.iter().any(|node| workload(node) == Some(speaker))
    }

    /// The nodes of the control plane.
    pub fn control_planes(&self) -> impl Iterator<Item = &NodePlan> {
        self.nodes.iter().filter(|node| node.role == Role::Controlplane)
    }

    /// Each kind of nodes with its first node, which stands for all of them.
    pub fn by_kind(&self) -> impl Iterator<Item = (&NodePlan, &Kind)> {
        self.kinds.iter().map(|kind| (&self.nodes[kind.first()], kind))
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<&NodePlan> {
        self.nodes.iter().find(|node| node.name.as_str() == name)
    }
}

/// A value that a rule could not give.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    /// Number of the node, or none for the cluster.
    pub node: Option<usize>,
    /// The key that must be written.
    pub key: &'static str,
    /// The rule that ended.
    pub rule: Rule,
    /// Why it ended.
    pub reason: GapReason,
}

/// Why a rule could not give a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapReason {
    /// `cluster.id` is not written.
    NoId,
    /// The node has no index.
    NoIndex,
    /// The id is beyond the rule's limit.
    IdOver(u32),
    /// The index is beyond the rule's limit.
    IndexOver(u32),
    /// The address would be outside its prefix, or its first or last.
    OutsidePrefix(IpNet),
    /// The number would be beyond the last AS number.
    AsnOver,
}

/// What holds for the cluster as a whole.
#[derive(Debug)]
pub struct ClusterPlan {
    /// Name.
    pub name: Word,
    /// Number.
    pub id: Option<u32>,
    /// The oldest Talos release among the nodes: what configurations are written for.
    pub contract: Decided<TalosVersion>,
    /// Talos release of the nodes that name none.
    pub talos: TalosVersion,
    /// Kubernetes release; none for a Talos release ichor does not know.
    pub kubernetes: Option<Decided<KubernetesVersion>>,
    /// Where the Kubernetes API answers.
    pub endpoint: Option<Decided<Endpoint>>,
    /// Where the Talos API is asked.
    pub(crate) talos_endpoints: Decided<Vec<String>>,
    /// The node on which etcd is bootstrapped.
    pub bootstrap: Option<Decided<NodeName>>,
    /// More names for the API server's certificate.
    pub sans: Option<Decided<List<DnsName>>>,
    /// Pod networks.
    pub(crate) pods: Decided<Vec<IpNet>>,
    /// Service networks.
    pub services: Decided<Vec<IpNet>>,
    /// The pod network's software.
    pub cni: Decided<CniPlan>,
    /// More arguments of flannel.
    pub(crate) flannel_args: Option<Decided<List<Text>>>,
    /// Cilium's chart, where Cilium is the pod network.
    pub cilium: Option<CiliumPlan>,
    /// Whether kube-proxy runs.
    pub(crate) kube_proxy: Decided<bool>,
    /// kube-vip, where it holds the address of the API.
    pub(crate) kube_vip: Option<KubeVipPlan>,
    /// Port of the API balancer on every node.
    pub(crate) kubeprism: Decided<u16>,
    /// How nodes find each other.
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
    /// The address that one control plane holds at a time.
    pub vip: Option<Decided<IpAddr>>,
    /// The addresses that every control plane announces.
    pub anycast: Vec<Decided<IpNet>>,
    /// Addresses for Kubernetes services, by pool.
    pub pools: Vec<(Word, Vec<Decided<IpNet>>)>,
    /// DHCP relays, by the site they are in front of.
    pub(crate) relays: BTreeMap<Word, Decided<IpAddr>>,
    /// Subnets the kubelet may take its address from, cluster-wide; [`Plan::kubelet_subnets`] has a node's.
    pub(crate) kubelet_subnets: Decided<Vec<IpNet>>,
    /// Subnets etcd may take its address from, cluster-wide; [`Plan::etcd_subnets`] has a node's.
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
    /// Both, as far as there are both.
    pub fn iter(&self) -> impl Iterator<Item = (IpNet, Origin)> {
        let v4 = self.v4.as_ref().map(|v4| (IpNet::V4(v4.value), v4.origin));
        let v6 = self.v6.as_ref().map(|v6| (IpNet::V6(v6.value), v6.origin));
        v4.into_iter().chain(v6)
    }
}

/// One node, decided.
#[derive(Debug)]
pub struct NodePlan {
    /// Its place among the nodes, counted from 0.
    pub nth: usize,
    /// Name, which becomes the hostname.
    pub name: NodeName,
    /// Where it stands in the file.
    pub place: Place,
    /// What it is in the cluster.
    pub role: Role,
    /// Its number.
    pub index: Option<u32>,
    /// Where it stands.
    pub site: Option<Word>,
    /// Groups whose settings it has.
    pub(crate) groups: Vec<Word>,
    /// What Talos runs on.
    pub platform: Decided<Platform>,
    /// Architecture.
    pub arch: Decided<Arch>,
    /// Talos release.
    pub talos: Decided<TalosVersion>,
    /// Its ports, in order.
    pub ports: Vec<Port>,
    /// Its addresses with their prefix length.
    pub address: Prefixes,
    /// Link that carries them.
    pub link: Decided<LinkName>,
    /// Where they come from.
    pub addressing: Decided<Addressing>,
    /// Default gateways.
    pub gateway: Gateways,
    /// Loopback addresses, /32 and /128.
    pub loopback: Prefixes,
    /// Dummy links.
    pub dummies: Vec<DummyPlan>,
    /// The address of the API that Talos moves between control planes; none on workers, and none where kube-vip does it.
    pub vip: Option<VipPlan>,
    /// Whether links are written the way of Talos 1.11, because the oldest node of the cluster knows no other.
    pub(crate) old_links: bool,
    /// AS number.
    pub asn: Option<Decided<Asn>>,
    /// BGP router id.
    pub router_id: Option<Decided<Ipv4Addr>>,
    /// BGP, where the node routes; shared by all that route alike.
    pub routing: Option<Arc<RoutingPlan>>,
    /// How it starts.
    pub boot: BootPlan,
    /// Its virtual machine.
    pub vm: Option<Box<VmPlan>>,
    /// Remote control of a real machine.
    pub power: Option<Box<Decided<Power>>>,
    /// Name servers; Talos' own where none are written.
    pub(crate) name_servers: Option<Decided<List<IpAddr>>>,
    /// Time servers; Talos' own where none are written.
    pub(crate) time_servers: Option<Decided<List<DnsName>>>,
    /// MTU of the links that have none of their own; the kernel's where none is written.
    pub mtu: Option<Decided<Mtu>>,
    /// Metric of the default routes.
    pub metric: Decided<u32>,
    /// What answers while the API is healthy, where the node has anycast addresses that follow it.
    pub health: Option<Decided<Url>>,
    /// Its addresses at other stages than the final one.
    pub stages: StagePlan,
    /// The overlay it joins.
    pub tailscale: Option<Box<TailscalePlan>>,
    /// Arguments, modules and settings of its kernel.
    pub kernel: KernelPlan,
    /// Kubernetes labels.
    pub labels: Option<Decided<Map<LabelKey, LabelValue>>>,
    /// Kubernetes taints.
    pub taints: Option<Decided<List<Taint>>>,
    /// Patches of its configuration, in the order in which they are applied.
    pub patches: Vec<Decided<Patch>>,
    /// Whether it announces nothing any more.
    pub drain: Decided<bool>,
    settings: Rung,
}

impl NodePlan {
    /// The address it will have in the end: IPv4 first, a loopback where its ports have none.
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

    /// The node's keys as the file has them. They are for rules alone, and a lint refuses every other call: whatever makes
    /// files or decides what happens takes the plan's values, which have defaults and origins.
    pub(crate) fn file_keys(&self) -> &Rung {
        &self.settings
    }

    /// The path of `key` on the node itself.
    pub fn path(&self, key: &str) -> String {
        if key.is_empty() { format!("nodes.{}", self.name) } else { format!("nodes.{}.{key}", self.name) }
    }

    /// Where a value of this origin was written; where the node stands if it was not.
    pub(crate) fn place_of(&self, origin: Origin) -> Place {
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
pub struct Port {
    /// Its name in the plan; the kernel's own where no name was given.
    pub name: LinkName,
    /// Its MAC address.
    pub mac: Option<Decided<Mac>>,
}

/// A link for addresses of services on the host.
#[derive(Clone, Debug)]
pub struct DummyPlan {
    /// Its name.
    pub name: LinkName,
    /// Its addresses, /32 and /128.
    pub address: Prefixes,
    /// Whether every control plane has the same.
    pub anycast: bool,
}

/// The address of the API that Talos moves between control planes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VipPlan {
    /// The address.
    pub address: IpAddr,
    /// Link that carries it.
    pub link: LinkName,
}

/// Decides everything about `cluster`.
pub fn plan(cluster: &Cluster) -> Plan {
    let mut gaps = Vec::new();
    let mut routes = route::Routes::default();
    let prefixes = cluster::prefixes(cluster, &mut gaps);
    let mut nodes: Vec<_> = (0..cluster.nodes().len())
        .map(|nth| node::plan(cluster, &prefixes, nth, &mut routes, &mut gaps))
        .collect();
    let kinds = kind::kinds(&nodes);
    let file = &cluster.file;
    let routers = router::plan(cluster);
    let cluster = cluster::plan(cluster, prefixes, &nodes);
    vm::spread(file, &mut nodes);
    for node in &mut nodes {
        node.old_links = !release::at_least(&cluster.contract.value, 12);
    }
    Plan { cluster, nodes, kinds, routed: routes.planned, routers, hypervisors: hypervisor::plan(file), gaps }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Plan;
    use crate::cluster::{FileError, Files, load};
    use crate::model::{Cluster, validate};

    struct One(&'static str);

    impl Files for One {
        fn read(&mut self, _: &str) -> Result<Vec<u8>, FileError> {
            Ok(self.0.into())
        }

        fn find(&mut self, _: &str) -> Result<Vec<String>, FileError> {
            Ok(Vec::new())
        }
    }

    /// The plan of a text without problems.
    pub(crate) fn planned(text: &'static str) -> Plan {
        planned_with(text).1
    }

    /// A text without problems, and its plan.
    pub(crate) fn planned_with(text: &'static str) -> (Cluster, Plan) {
        let loaded = load("ichor.yaml", &mut One(text));
        let cluster = validate(loaded.file, loaded.problems).unwrap();
        let plan = super::plan(&cluster);
        (cluster, plan)
    }
}
