//! One node: addresses, ports and values derived from its index.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::{Ipv4Net, Ipv6Net};

use super::bgp_group::BgpPlanner;
use super::derive::{self, Derivation};
use super::link::METRIC;
use super::routing::RoutingInputs;
use super::{
    Decided, DummyPlan, Gap, GapReason, Gateways, NodePlan, PortPlan, Prefixes, RoutingPlan, VipPlan, VmPlan,
    announced, backend, boot, kernel, overlay, vm,
};
use crate::cluster::section::{
    Addressing, BootFrom, Digits, Network, Node, NodeNetwork, NodeSettings, Platform, Role, RouterId,
};
use crate::model::{self, Cluster};
use ichor_values::Arch;
use ichor_values::Location;
use ichor_values::key::{Key, Spanned};
use ichor_values::{AddressOrPrefix4, AddressOrPrefix6, Asn, LinkName, TalosVersion};

/// The cluster-wide prefixes of node addresses.
pub(crate) struct ClusterPrefixes {
    pub node: Prefixes,
    pub loopback: Prefixes,
    pub gateway: Option<Decided<Ipv6Addr>>,
}

/// Collects values that cannot be derived for one node.
pub(crate) struct GapCollector<'g> {
    node: usize,
    gaps: &'g mut Vec<Gap>,
}

impl GapCollector<'_> {
    pub fn record<T>(
        &mut self,
        key: &'static str,
        rule: Derivation,
        result: Result<T, GapReason>,
    ) -> Option<T> {
        result.map_err(|reason| self.gaps.push(Gap { node: Some(self.node), key, rule, reason })).ok()
    }
}

/// Inputs of a node plan.
struct NodeInputs<'c> {
    cluster: &'c Cluster,
    node: &'c Node,
    settings: &'c NodeSettings,
    role: Role,
    index: Option<u32>,
}

/// Addresses of a node and their links.
struct AddressPlan {
    addressing: Decided<Addressing>,
    address: Prefixes,
    gateway: Gateways,
    loopback: Prefixes,
    dummies: Vec<DummyPlan>,
    link: Decided<LinkName>,
    vip: Option<VipPlan>,
}

/// Decides the settings of node `nth`.
pub fn plan(
    cluster: &Cluster,
    cluster_prefixes: &ClusterPrefixes,
    nth: usize,
    planner: &mut BgpPlanner,
    gaps: &mut Vec<Gap>,
) -> NodePlan {
    let Spanned { value: node, place } = &cluster.nodes()[nth];
    let (role, index) = (model::role(node), node.index.value());
    #[expect(clippy::disallowed_methods, reason = "the plan is made from them")]
    let settings = cluster.settings(nth);
    let subject = NodeInputs { cluster, node, settings, role, index };
    let mut gaps = GapCollector { node: nth, gaps };
    let platform = platform(cluster, settings);
    let ports = ports(cluster, node, settings, settings.vm.is_set(), &mut gaps);
    let AddressPlan { addressing, address, gateway, loopback, dummies, link, vip } =
        subject.addresses(cluster_prefixes, &ports, &mut gaps);
    let routes = settings.routing.is_set();
    let asn = asn(cluster, node, settings, routes, &mut gaps);
    let router_id = router_id(cluster, node, settings, &loopback, routes, &mut gaps);
    let talos = talos(cluster, settings);
    let routing = subject.routing(nth, &ports, &talos.value, planner);
    let arch = Decided::from_key_or(&settings.arch, Arch::Amd64, "the most common architecture");
    let from = boot::config_source(settings, platform.value);
    let vm = subject.vm(arch.value, from.value, &mut gaps);
    let none = (Network::default(), NodeNetwork::default());
    let network = settings.network.get().unwrap_or(&none.0);
    let own = network.node.get().unwrap_or(&none.1);
    let health = network.api.get().filter(|_| backend::watches_health(settings, role));
    NodePlan {
        nth,
        name: node.name.get().expect("checked: required").clone(),
        place: *place,
        role,
        index,
        site: node.site.get().cloned(),
        groups: node.groups.values().cloned().collect(),
        platform,
        arch,
        talos,
        ports,
        address,
        link,
        addressing,
        gateway,
        loopback,
        dummies,
        vip,
        old_links: false,
        asn,
        router_id,
        boot: boot::plan(cluster, settings, from, routing.as_deref(), vm.as_deref()),
        vm,
        power: Decided::from_key(&settings.power).map(Box::new),
        name_servers: Decided::from_key(&network.dns),
        time_servers: Decided::from_key(&network.ntp),
        mtu: Decided::from_key(&network.mtu),
        metric: Decided::from_key_or(&own.metric, METRIC, "Talos' default"),
        health: health.and_then(|api| Decided::from_key(&api.health)),
        stages: overlay::stages(settings),
        tailscale: overlay::plan(settings),
        kernel: kernel::plan(settings, routing.as_deref()),
        labels: Decided::from_key(&settings.labels),
        taints: Decided::from_key(&settings.taints),
        patches: written_items(settings.patches.items()),
        drain: Decided::from_key_or(&settings.drain, false, "the node announces its routes"),
        routing,
        settings: settings.clone(),
    }
}

fn written_items<'a, T: Clone + 'a>(items: impl Iterator<Item = &'a Spanned<T>>) -> Vec<Decided<T>> {
    items.map(|at| Decided::written(at.value.clone(), at.place)).collect()
}

fn talos(cluster: &Cluster, settings: &NodeSettings) -> Decided<TalosVersion> {
    let of_cluster = || {
        let place: Location = cluster.section().talos.place().unwrap_or_default();
        Decided::written(cluster.talos.clone(), place)
    };
    Decided::from_key(&settings.talos).unwrap_or_else(of_cluster)
}

impl NodeInputs<'_> {
    fn addresses(
        &self,
        cluster_prefixes: &ClusterPrefixes,
        ports: &[PortPlan],
        gaps: &mut GapCollector<'_>,
    ) -> AddressPlan {
        let own = self.node.settings.network.get();
        let network = self.settings.network.get();
        let none = NodeNetwork::default();
        let on_ports = network.and_then(|network| network.node.get()).unwrap_or(&none);
        let addressing =
            Decided::from_key_or(&on_ports.addressing, Addressing::Static, "addresses come from this file");
        let spelling = network.and_then(|network| network.digits.value()).unwrap_or(Digits::Decimal);
        let section = |network: &Network| network.node.get().map(|node| (node.v4.clone(), node.v6.clone()));
        let source = AddressSource {
            own: own.and_then(section),
            below: network.and_then(section),
            cluster_prefixes: &cluster_prefixes.node,
            index: self.index,
            spelling,
        };
        let address = if addressing.value == Addressing::Dhcp {
            source.written_addresses()
        } else {
            source.addresses("network.node.v4", "network.node.v6", false, gaps)
        };
        let link = Decided::from_key(&on_ports.link)
            .unwrap_or_else(|| Decided::default(first_port(ports), "the first port"));
        AddressPlan {
            addressing,
            gateway: gateways(network, cluster_prefixes, &address),
            address,
            loopback: self.loopback(cluster_prefixes, spelling, gaps),
            dummies: dummies(own, network, self.role, self.index, spelling, gaps),
            vip: self.vip(&link.value),
            link,
        }
    }

    fn loopback(
        &self,
        cluster_prefixes: &ClusterPrefixes,
        spelling: Digits,
        gaps: &mut GapCollector<'_>,
    ) -> Prefixes {
        let own = self.node.settings.network.get();
        let network = self.settings.network.get();
        let section =
            |network: &Network| network.loopback.get().map(|node| (node.v4.clone(), node.v6.clone()));
        let source = AddressSource {
            own: own.and_then(section),
            below: network.and_then(section),
            cluster_prefixes: &cluster_prefixes.loopback,
            index: self.index,
            spelling,
        };
        let before = gaps.gaps.len();
        let loopback = source.addresses("network.loopback.v4", "network.loopback.v6", true, gaps);
        // A node without routing needs a loopback only if one is written.
        if !self.settings.routing.is_set() && !network.is_some_and(|network| network.loopback.is_set()) {
            gaps.gaps.truncate(before);
        }
        loopback
    }

    fn vip(&self, link: &LinkName) -> Option<VipPlan> {
        let network = self.settings.network.get().filter(|_| self.role == Role::Controlplane)?;
        if self.cluster.section().kube_vip.is_set() { None } else { vip_plan(network, link) }
    }

    fn routing(
        &self,
        nth: usize,
        ports: &[PortPlan],
        talos: &TalosVersion,
        planner: &mut BgpPlanner,
    ) -> Option<Arc<RoutingPlan>> {
        let routing = self.settings.routing.get()?;
        let ports: Vec<_> = ports.iter().map(|port| port.name.clone()).collect();
        let inputs = RoutingInputs {
            cluster: self.cluster,
            routing,
            ports: &ports,
            role: self.role,
            talos,
            health: backend::watches_health(self.settings, self.role),
            has_other_addresses: announced::has_other_addresses(self.settings, self.role, routing),
        };
        Some(planner.plan(nth, inputs))
    }

    fn vm(&self, arch: Arch, from: BootFrom, gaps: &mut GapCollector<'_>) -> Option<Box<VmPlan>> {
        let inputs = vm::VmInputs { cluster: self.cluster, arch, from, index: self.index };
        Some(Box::new(vm::plan(&inputs, self.settings.vm.get()?, gaps)))
    }
}

fn first_port(ports: &[PortPlan]) -> LinkName {
    let default = || LinkName::parse("eth0").expect("a link name");
    ports.first().map_or_else(default, |port| port.name.clone())
}

fn platform(cluster: &Cluster, settings: &NodeSettings) -> Decided<Platform> {
    match settings.platform.at() {
        Some(platform) => Decided::written(*platform.value, platform.place),
        None => {
            let proxmox = settings.vm.get().is_some_and(|vm| vm::is_proxmox(cluster, vm));
            let platform = if proxmox { Platform::Nocloud } else { Platform::Metal };
            Decided::derived(platform, Derivation::ByPlatform, None)
        }
    }
}

fn ports(
    cluster: &Cluster,
    node: &Node,
    settings: &NodeSettings,
    is_vm: bool,
    gaps: &mut GapCollector<'_>,
) -> Vec<PortPlan> {
    let names = settings.ports.get().map(|ports| ports.0.as_slice()).unwrap_or_default();
    let macs = settings.macs.get().map(|macs| macs.0.as_slice()).unwrap_or_default();
    let name = |nth: usize| match names.get(nth) {
        Some(name) => name.value.clone(),
        None => LinkName::parse(&format!("eth{nth}")).expect("a link name"),
    };
    if !macs.is_empty() {
        let port = |(nth, mac): (usize, &Spanned<_>)| PortPlan {
            name: name(nth),
            mac: Some(Decided::written(mac.value, mac.place)),
        };
        return macs.iter().enumerate().map(port).collect();
    }
    let count = names.len().max(1);
    (0..count)
        .map(|nth| {
            let mac = is_vm.then(|| {
                let (id, index) =
                    (cluster.id().ok_or(GapReason::NoId), node.index.value().ok_or(GapReason::NoIndex));
                let port = u8::try_from(nth).unwrap_or(u8::MAX);
                let mac = id.and_then(|id| derive::mac(*id.value, index?, port));
                gaps.record("macs", Derivation::Mac, mac)
                    .map(|mac| Decided::derived(mac, Derivation::Mac, None))
            });
            PortPlan { name: name(nth), mac: mac.flatten() }
        })
        .collect()
}

type PrefixKeys = (Key<AddressOrPrefix4>, Key<AddressOrPrefix6>);

/// Sources of a node's addresses in one network.
struct AddressSource<'s> {
    own: Option<PrefixKeys>,
    below: Option<PrefixKeys>,
    cluster_prefixes: &'s Prefixes,
    index: Option<u32>,
    spelling: Digits,
}

impl AddressSource<'_> {
    fn addresses(
        &self,
        key4: &'static str,
        key6: &'static str,
        host: bool,
        gaps: &mut GapCollector<'_>,
    ) -> Prefixes {
        Prefixes { v4: self.v4(key4, host, gaps), v6: self.v6(key6, host, gaps) }
    }

    /// The addresses written on the node: with DHCP nothing is derived.
    fn written_addresses(&self) -> Prefixes {
        let v4 = self.own.as_ref().and_then(|(v4, _)| self.own4(v4, false));
        let v6 = self.own.as_ref().and_then(|(_, v6)| self.own6(v6, false));
        Prefixes { v4, v6 }
    }

    fn own4(&self, key: &Key<AddressOrPrefix4>, host: bool) -> Option<Decided<Ipv4Net>> {
        let at = key.at()?;
        let address = at.value.own()?;
        let around = self.below.as_ref().and_then(|(v4, _)| v4.get()?.around());
        let inherited = around
            .or(self.cluster_prefixes.v4.as_ref().map(|v4| v4.value))
            .filter(|net| net.contains(&address));
        let length =
            if host { 32 } else { at.value.length.or(inherited.map(|net| net.prefix_len())).unwrap_or(32) };
        Some(Decided::written(Ipv4Net::new_assert(address, length), at.place))
    }

    fn own6(&self, key: &Key<AddressOrPrefix6>, host: bool) -> Option<Decided<Ipv6Net>> {
        let at = key.at()?;
        let address = at.value.own()?;
        let around = self.below.as_ref().and_then(|(_, v6)| v6.get()?.around());
        let inherited = around
            .or(self.cluster_prefixes.v6.as_ref().map(|v6| v6.value))
            .filter(|net| net.contains(&address));
        let length =
            if host { 128 } else { at.value.length.or(inherited.map(|net| net.prefix_len())).unwrap_or(128) };
        Some(Decided::written(Ipv6Net::new_assert(address, length), at.place))
    }

    fn v4(&self, key: &'static str, host: bool, gaps: &mut GapCollector<'_>) -> Option<Decided<Ipv4Net>> {
        let below = self.below.as_ref().map(|(v4, _)| v4);
        if let Some(own) = below.and_then(|v4| self.own4(v4, host)) {
            return Some(own);
        }
        let (prefix, place) = match below.filter(|v4| v4.is_written()) {
            Some(written) => (written.get()?.prefix()?, written.place()),
            None => (self.cluster_prefixes.v4.as_ref()?.value, self.cluster_prefixes.v4.as_ref()?.place()),
        };
        let address = self.index.ok_or(GapReason::NoIndex).and_then(|index| derive::host4(prefix, index));
        let address = gaps.record(key, Derivation::Host4, address)?;
        let length = if host { 32 } else { prefix.prefix_len() };
        Some(Decided::derived(Ipv4Net::new_assert(address, length), Derivation::Host4, place))
    }

    fn v6(&self, key: &'static str, host: bool, gaps: &mut GapCollector<'_>) -> Option<Decided<Ipv6Net>> {
        let below = self.below.as_ref().map(|(_, v6)| v6);
        if let Some(own) = below.and_then(|v6| self.own6(v6, host)) {
            return Some(own);
        }
        let (prefix, place) = match below.filter(|v6| v6.is_written()) {
            Some(written) => (written.get()?.prefix()?, written.place()),
            None => (self.cluster_prefixes.v6.as_ref()?.value, self.cluster_prefixes.v6.as_ref()?.place()),
        };
        let address = self
            .index
            .ok_or(GapReason::NoIndex)
            .and_then(|index| derive::host6(prefix, index, self.spelling));
        let address = gaps.record(key, Derivation::Host6, address)?;
        let length = if host { 128 } else { prefix.prefix_len() };
        Some(Decided::derived(Ipv6Net::new_assert(address, length), Derivation::Host6, place))
    }
}

fn gateways(network: Option<&Network>, cluster_prefixes: &ClusterPrefixes, address: &Prefixes) -> Gateways {
    let written = network.and_then(|network| network.node.get()).and_then(|node| node.gateway.get());
    let v4 = written.and_then(|gateway| gateway.v4.at()).map(|v4| Decided::written(*v4.value, v4.place));
    let v6 = match written.map(|gateway| &gateway.v6).filter(|v6| v6.is_written()) {
        Some(v6) => v6.at().map(|v6| Decided::written(*v6.value, v6.place)),
        None => cluster_prefixes
            .gateway
            .clone()
            .filter(|gateway| address.v6.as_ref().is_some_and(|v6| v6.value.contains(&gateway.value))),
    };
    Gateways { v4, v6 }
}

fn dummies(
    own: Option<&Network>,
    network: Option<&Network>,
    role: Role,
    index: Option<u32>,
    spelling: Digits,
    gaps: &mut GapCollector<'_>,
) -> Vec<DummyPlan> {
    let no_prefixes = Prefixes::default();
    let mut dummies = Vec::new();
    for (name, dummy) in
        network.and_then(|network| network.dummy.get()).into_iter().flat_map(|map| map.iter())
    {
        let mine = own.and_then(|own| {
            own.dummy.get()?.get(name.as_str()).map(|at| (at.value.v4.clone(), at.value.v6.clone()))
        });
        let below = Some((dummy.value.v4.clone(), dummy.value.v6.clone()));
        let source = AddressSource { own: mine, below, cluster_prefixes: &no_prefixes, index, spelling };
        let address = source.addresses("network.dummy", "network.dummy", true, gaps);
        dummies.push(DummyPlan { name: name.clone(), address, anycast: false });
    }
    if role == Role::Controlplane
        && let Some(api) = network.and_then(|network| network.api.get())
        && let Some(anycast) = api.anycast.get()
    {
        let name = api.link.get().cloned().unwrap_or_else(|| LinkName::parse("dummy1").expect("a link name"));
        let mut address = Prefixes::default();
        for at in &anycast.0 {
            match at.value.0 {
                ipnet::IpNet::V4(net) => address.v4 = Some(Decided::written(net, at.place)),
                ipnet::IpNet::V6(net) => address.v6 = Some(Decided::written(net, at.place)),
            }
        }
        dummies.push(DummyPlan { name, address, anycast: true });
    }
    dummies
}

/// The VIP and its link; `link` is that of the node address.
fn vip_plan(network: &Network, link: &LinkName) -> Option<VipPlan> {
    let api = network.api.get()?;
    let address = api.vip.value()?;
    // With anycast addresses, the link is theirs.
    let own = api.link.get().filter(|_| !api.anycast.is_set());
    Some(VipPlan { address, link: own.unwrap_or(link).clone() })
}

/// On the node itself, the AS number; in another layer, a base.
fn asn(
    cluster: &Cluster,
    node: &Node,
    settings: &NodeSettings,
    routes: bool,
    gaps: &mut GapCollector<'_>,
) -> Option<Decided<Asn>> {
    if let Some(own) = node.settings.routing.get().and_then(|routing| routing.asn.at()) {
        return Some(Decided::written(*own.value, own.place));
    }
    let index = node.index.value().ok_or(GapReason::NoIndex);
    let base = settings.routing.get().and_then(|routing| routing.asn.at());
    let (rule, place, result) = match base {
        Some(base) => (
            Derivation::AsnBase,
            Some(base.place),
            index.and_then(|index| derive::asn_from(*base.value, index)),
        ),
        None => {
            let id = cluster.id().ok_or(GapReason::NoId);
            (Derivation::Asn, None, id.and_then(|id| derive::asn(*id.value, index?)))
        }
    };
    let value = if routes { gaps.record("routing.asn", rule, result) } else { result.ok() };
    value.map(|asn| Decided::derived(asn, rule, place))
}

fn router_id(
    cluster: &Cluster,
    node: &Node,
    settings: &NodeSettings,
    loopback: &Prefixes,
    routes: bool,
    gaps: &mut GapCollector<'_>,
) -> Option<Decided<Ipv4Addr>> {
    let own = node.settings.routing.get().and_then(|routing| routing.router_id.at());
    if let Some(Spanned { value: RouterId::Address(address), place }) = own {
        return Some(Decided::written(*address, place));
    }
    let written = settings.routing.get().and_then(|routing| routing.router_id.at());
    let index = node.index.value().ok_or(GapReason::NoIndex);
    let (rule, place, result) = match written {
        Some(Spanned { value: RouterId::Loopback, place }) => {
            let address = loopback.v4.as_ref().map(|v4| v4.value.addr());
            return address
                .map(|address| Decided::derived(address, Derivation::RouterIdLoopback, Some(place)));
        }
        Some(Spanned { value: RouterId::Address(base), place }) => (
            Derivation::RouterIdBase,
            Some(place),
            index.and_then(|index| derive::router_id_from(*base, index)),
        ),
        None => {
            let id = cluster.id().ok_or(GapReason::NoId);
            (Derivation::RouterId, None, id.and_then(|id| derive::router_id(*id.value, index?)))
        }
    };
    let value = if routes { gaps.record("routing.router_id", rule, result) } else { result.ok() };
    value.map(|address| Decided::derived(address, rule, place))
}
