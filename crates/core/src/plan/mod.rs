//! Everything decided: what each node will be, with the reason for every value.
//!
//! [`plan`] turns a [`Cluster`] into a [`Plan`]. A plan leaves no choice open: what a file does not say is derived or
//! has a default, and each [`Decided`] value knows which ([`Origin`]). What could not be derived is listed in
//! [`Plan::gaps`]; rules make findings of them. [`why()`](why::why) explains one value.

mod alike;
mod announced;
pub mod attachment;
pub mod backend;
mod boot;
pub mod cable;
mod cluster;
pub mod derive;
mod kind;
pub mod link;
pub mod matrix;
mod node;
pub(crate) mod patch;
pub mod port_name;
mod route;
mod routing;
mod subnet;
mod vm;
mod way;
pub mod why;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::cluster::section::{
    Addressing, BootDevice, BootFrom, Firmware, ImageSource, Machine, Platform, Role, Rung,
};
use crate::model::Cluster;
use derive::Rule;
use ichor_bgp::setting::{Advertise, Carrier, Isolation, MetallbMode, Speaker};
use ichor_talos::release;
use ichor_values::Place;
use ichor_values::{Arch, Backend};
use ichor_values::{
    Asn, Endpoint, KubernetesVersion, LinkName, Mac, NodeName, Secret, Size, TalosVersion, VlanId, Word,
};
pub use kind::Kind;
pub use link::{LinkKind, LinkPlan, Master, RoutePlan, Stage};
pub use route::RoutedNodes;
pub use vm::DEFAULT_BRIDGE;

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From a line of the file.
    Written(Place),
    /// From a rule, with the place of its base where it has one.
    Derived(Rule, Option<Place>),
    /// From nothing: what holds when nobody says otherwise, and why.
    Default(&'static str),
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

impl<T> Decided<T> {
    fn written(value: T, place: Place) -> Self {
        Self { value, origin: Origin::Written(place) }
    }

    fn default(value: T, reason: &'static str) -> Self {
        Self { value, origin: Origin::Default(reason) }
    }

    fn derived(value: T, rule: Rule, base: Option<Place>) -> Self {
        Self { value, origin: Origin::Derived(rule, base) }
    }

    /// The place it was written at, if it was.
    pub fn place(&self) -> Option<Place> {
        match self.origin {
            Origin::Written(place) => Some(place),
            Origin::Derived(_, base) => base,
            Origin::Default(_) => None,
        }
    }
}

/// The whole cluster, decided.
#[derive(Debug)]
pub struct Plan {
    /// What holds for the cluster as a whole.
    pub cluster: ClusterPlan,
    /// Every node, in the order of the file.
    pub nodes: Vec<NodePlan>,
    /// Those that route, by how they do.
    pub routed: Vec<RoutedNodes>,
    /// The nodes again, sorted into those that are alike.
    pub kinds: Vec<Kind>,
    /// What should have been derived and could not.
    pub gaps: Vec<Gap>,
}

impl Plan {
    /// Whether some node has this speaker of service addresses.
    pub fn has_speaker(&self, speaker: Speaker) -> bool {
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
pub struct Gap {
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
    /// Kubernetes release; none for a Talos release ichor does not know.
    pub kubernetes: Option<Decided<KubernetesVersion>>,
    /// Where the Kubernetes API answers.
    pub endpoint: Option<Decided<Endpoint>>,
    /// Where the Talos API is asked.
    pub talos_endpoints: Decided<Vec<String>>,
    /// The node on which etcd is bootstrapped.
    pub bootstrap: Option<Decided<NodeName>>,
    /// Pod networks.
    pub pods: Decided<Vec<IpNet>>,
    /// Service networks.
    pub services: Decided<Vec<IpNet>>,
    /// The pod network's software.
    pub cni: Decided<CniPlan>,
    /// Whether kube-proxy runs.
    pub kube_proxy: Decided<bool>,
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
    /// Subnets the kubelet may take its address from, cluster-wide; [`Plan::kubelet_subnets`] has a node's.
    pub kubelet_subnets: Decided<Vec<IpNet>>,
    /// Subnets etcd may take its address from, cluster-wide; [`Plan::etcd_subnets`] has a node's.
    pub etcd_subnets: Decided<Vec<IpNet>>,
}

/// The pod network's software.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CniPlan {
    /// flannel, on a link if one was given.
    Flannel(Option<LinkName>),
    /// Cilium.
    Cilium,
    /// None, or one that somebody else installs.
    None,
    /// A manifest.
    Manifest(String),
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
    pub old_links: bool,
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
    /// All it has from the ladder, as written.
    pub settings: Rung,
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
    pub fn joins_overlay(&self) -> bool {
        self.settings.overlay.get().is_some_and(|overlay| overlay.tailscale.is_set())
    }

    /// The path of `key` on the node itself.
    pub fn path(&self, key: &str) -> String {
        if key.is_empty() { format!("nodes.{}", self.name) } else { format!("nodes.{}.{key}", self.name) }
    }

    /// Where a value of this origin was written; where the node stands if it was not.
    pub fn place_of(&self, origin: Origin) -> Place {
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

/// BGP on one node.
#[derive(Debug)]
pub struct RoutingPlan {
    /// Who speaks BGP.
    pub backend: Decided<Backend>,
    /// What brings it onto the node; none for the native backend.
    pub carrier: Option<Decided<Carrier>>,
    /// What the file asks of it that it cannot do.
    pub lacks: Vec<backend::Lack>,
    /// Which addresses are announced.
    pub advertise: Decided<Vec<Advertise>>,
    /// Whom it peers with.
    pub neighbors: Vec<NeighborPlan>,
    /// The speaker of service addresses.
    pub workload: Option<WorkloadPlan>,
}

/// One BGP session with the fabric.
#[derive(Clone, Debug)]
pub struct NeighborPlan {
    /// Where it stands in the file; for a session that follows from the fabric, where the router stands.
    pub place: Place,
    /// The router of the fabric.
    pub router: Option<Word>,
    /// Its number among the routers of the fabric.
    pub router_nth: Option<usize>,
    /// How it is found.
    pub peer: Peer,
    /// Its AS number; none when any external one will do.
    pub asn: Option<Asn>,
    /// Milliseconds and multiplier.
    pub bfd: Option<(u32, u8)>,
    /// Keepalive and hold time in seconds.
    pub timers: (u16, u16),
    /// Whether the neighbour connects.
    pub passive: bool,
    /// Where the session's password can be had, if it has one.
    pub password: Option<Secret>,
}

/// How a neighbour is found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// By its router advertisements on a link.
    Link(LinkName),
    /// By its address.
    Address(IpAddr),
}

/// The speaker of service addresses and the link to it.
#[derive(Clone, Debug)]
pub struct WorkloadPlan {
    /// Where it stands in the file.
    pub place: Place,
    /// Who announces service addresses.
    pub speaker: Speaker,
    /// How MetalLB speaks BGP.
    pub mode: MetallbMode,
    /// What keeps its routes apart.
    pub isolation: Decided<Isolation>,
    /// VRF or namespace, unless there is no isolation.
    pub domain: Option<Decided<String>>,
    /// Table of the VRF.
    pub table: Option<Decided<u32>>,
    /// Addresses of the link: ours and theirs; none where they could not be derived.
    pub link: Option<(Decided<IpAddr>, Decided<IpAddr>)>,
    /// Its prefix length.
    pub prefix: u8,
    /// Names of its ends: ours and theirs.
    pub names: (String, String),
    /// AS numbers: ours and theirs.
    pub asn: (Decided<Asn>, Decided<Asn>),
    /// Prefixes taken from the speaker; empty means everything.
    pub allow: Vec<IpNet>,
}

/// How a node starts.
#[derive(Debug)]
pub struct BootPlan {
    /// What carries its first configuration.
    pub from: Decided<BootFrom>,
    /// Where Talos is installed; none where nothing was said.
    pub disk: Option<Decided<String>>,
    /// Who makes its images.
    pub image: Decided<ImagePlan>,
    /// System extensions: those that are written, then those that something else in the file needs.
    pub extensions: Vec<Decided<String>>,
}

/// Who makes a node's images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImagePlan {
    /// ichor or the Image Factory.
    Made(ImageSource),
    /// They are given.
    Given,
}

/// A node's virtual machine.
#[derive(Debug)]
pub struct VmPlan {
    /// Where it is made; none where that could not be told.
    pub hypervisor: Option<Decided<Word>>,
    /// Its number on the hypervisor.
    pub id: Option<Decided<u32>>,
    /// Host of the hypervisor cluster.
    pub host: Option<Decided<Word>>,
    /// CPU cores.
    pub cores: Decided<u16>,
    /// CPU type.
    pub cpu: Decided<String>,
    /// Memory.
    pub memory: Decided<Size>,
    /// Size of the disk.
    pub disk: Decided<Size>,
    /// Where the disk is.
    pub storage: Decided<String>,
    /// Where ISO images are.
    pub iso: Decided<String>,
    /// Model of its ports.
    pub nic: Decided<String>,
    /// Bridge of its ports.
    pub bridge: Decided<String>,
    /// VLAN of its ports.
    pub vlan: Option<Decided<VlanId>>,
    /// Machine type.
    pub machine: Decided<Machine>,
    /// Firmware.
    pub firmware: Decided<Firmware>,
    /// What it boots from.
    pub boot: Decided<Vec<BootDevice>>,
    /// Whether it starts with the host.
    pub on_boot: Decided<bool>,
    /// Whether the guest agent is used.
    pub guest_agent: Decided<bool>,
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
    let cluster = cluster::plan(cluster, prefixes, &nodes);
    vm::spread(file, &mut nodes);
    for node in &mut nodes {
        node.old_links = !release::at_least(&cluster.contract.value, 12);
    }
    Plan { cluster, nodes, kinds, routed: routes.planned, gaps }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Plan;
    use crate::cluster::{Files, load};
    use crate::model::{Cluster, validate};

    struct One(&'static str);

    impl Files for One {
        fn read(&mut self, _: &str) -> Result<Vec<u8>, String> {
            Ok(self.0.into())
        }

        fn find(&mut self, _: &str) -> Result<Vec<String>, String> {
            Ok(Vec::new())
        }
    }

    /// The plan of a text without problems.
    pub fn planned(text: &'static str) -> Plan {
        planned_with(text).1
    }

    /// A text without problems, and its plan.
    pub fn planned_with(text: &'static str) -> (Cluster, Plan) {
        let loaded = load("ichor.yaml", &mut One(text));
        let cluster = validate(loaded.file, loaded.problems).unwrap();
        let plan = super::plan(&cluster);
        (cluster, plan)
    }
}
