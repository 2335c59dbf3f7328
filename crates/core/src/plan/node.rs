//! One node: addresses, ports and everything that follows from its index.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use super::derive::{self, Rule};
use super::route::Routes;
use super::{Decided, DummyPlan, Gap, GapReason, Gateways, NodePlan, Port, Prefixes, VipPlan, boot, vm};
use crate::cluster::section::{Addressing, Digits, Network, Node, Platform, Role, RouterId, Rung};
use crate::model::{self, Cluster};
use ichor_values::Arch;
use ichor_values::key::{At, Key};
use ichor_values::{AddressOrPrefix4, AddressOrPrefix6, Asn, LinkName};

/// The cluster-wide prefixes nodes take their addresses from.
pub struct Ground {
    pub node: Prefixes,
    pub loopback: Prefixes,
    pub gateway: Option<Decided<Ipv6Addr>>,
}

/// Collects what cannot be derived for one node.
pub struct Gaps<'g> {
    node: usize,
    gaps: &'g mut Vec<Gap>,
}

impl Gaps<'_> {
    pub fn note<T>(&mut self, key: &'static str, rule: Rule, result: Result<T, GapReason>) -> Option<T> {
        result.map_err(|reason| self.gaps.push(Gap { node: Some(self.node), key, rule, reason })).ok()
    }
}

/// Decides everything about node `nth`.
pub fn plan(
    cluster: &Cluster,
    ground: &Ground,
    nth: usize,
    planner: &mut Routes,
    gaps: &mut Vec<Gap>,
) -> NodePlan {
    let written = &cluster.nodes()[nth];
    let node = &written.value;
    let settings = cluster.settings(nth);
    let mut gaps = Gaps { node: nth, gaps };
    let own = node.rung.network.get();
    let network = settings.network.get();
    let index = node.index.value();
    let spelling = network.and_then(|network| network.digits.value()).unwrap_or(Digits::Decimal);
    let vm = settings.vm.get();
    let platform = platform(cluster, &settings);
    let ports = ports(cluster, node, &settings, vm.is_some(), &mut gaps);
    let role = model::role(node);

    let addressing =
        match network.and_then(|network| network.node.get()).and_then(|node| node.addressing.at()) {
            Some(addressing) => Decided::written(*addressing.value, addressing.place),
            None => {
                Decided::default(Addressing::Static, "addresses come from this file unless it says otherwise")
            }
        };
    let needed = addressing.value != Addressing::Dhcp;
    let section = |network: &Network| network.node.get().map(|node| (node.v4.clone(), node.v6.clone()));
    let address = Source {
        own: own.and_then(section),
        below: network.and_then(section),
        ground: &ground.node,
        index,
        spelling,
    };
    let address = if needed {
        address.addresses("network.node.v4", "network.node.v6", false, &mut gaps)
    } else {
        address.written()
    };
    let gateway = gateways(network, ground, &address);
    let section = |network: &Network| network.loopback.get().map(|node| (node.v4.clone(), node.v6.clone()));
    let loopback = Source {
        own: own.and_then(section),
        below: network.and_then(section),
        ground: &ground.loopback,
        index,
        spelling,
    };
    let routes = settings.routing.is_set();
    let told = gaps.gaps.len();
    let loopback = loopback.addresses("network.loopback.v4", "network.loopback.v6", true, &mut gaps);
    if !routes && !network.is_some_and(|network| network.loopback.is_set()) {
        gaps.gaps.truncate(told);
    }
    let dummies = dummies(own, network, role, index, spelling, &mut gaps);

    let link = match network.and_then(|network| network.node.get()).and_then(|node| node.link.at()) {
        Some(link) => Decided::written(link.value.clone(), link.place),
        None => Decided::default(
            ports
                .first()
                .map_or_else(|| LinkName::parse("eth0").expect("a link name"), |port| port.name.clone()),
            "the first port",
        ),
    };
    let vip = network.filter(|_| role == Role::Controlplane && !cluster.section().kube_vip.is_set());
    let vip = vip.and_then(|network| vip_of(network, &link.value));
    let asn = asn(cluster, node, &settings, routes, &mut gaps);
    let router_id = router_id(cluster, node, &settings, &loopback, routes, &mut gaps);
    let talos = match settings.talos.at() {
        Some(talos) => Decided::written(talos.value.clone(), talos.place),
        None => Decided::written(cluster.talos.clone(), cluster.section().talos.place().unwrap_or_default()),
    };
    let routing = planner.plan(cluster, nth, &settings, role, &ports, &talos.value);
    let arch = arch(&settings);
    let from = boot::from(&settings, platform.value);
    let ground = vm::Ground { cluster, arch: arch.value, from: from.value, index };
    let vm = settings.vm.at().map(|vm| Box::new(vm::plan(&ground, vm.value, &mut gaps)));
    let boot = boot::plan(cluster, &settings, from, routing.as_deref(), vm.as_deref());
    NodePlan {
        nth,
        name: node.name.get().expect("checked: required").clone(),
        place: written.place,
        role,
        index,
        site: node.site.get().cloned(),
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
        routing,
        boot,
        vm,
        settings,
    }
}

fn arch(settings: &Rung) -> Decided<Arch> {
    match settings.arch.at() {
        Some(arch) => Decided::written(*arch.value, arch.place),
        None => Decided::default(Arch::Amd64, "amd64 unless the file says otherwise"),
    }
}

fn platform(cluster: &Cluster, settings: &Rung) -> Decided<Platform> {
    match settings.platform.at() {
        Some(platform) => Decided::written(*platform.value, platform.place),
        None => {
            let proxmox = settings.vm.get().is_some_and(|vm| vm::is_proxmox(cluster, vm));
            let platform = if proxmox { Platform::Nocloud } else { Platform::Metal };
            Decided::derived(platform, Rule::ByPlatform, None)
        }
    }
}

fn ports(cluster: &Cluster, node: &Node, settings: &Rung, is_vm: bool, gaps: &mut Gaps<'_>) -> Vec<Port> {
    let names = settings.ports.get().map(|ports| ports.0.as_slice()).unwrap_or_default();
    let macs = settings.macs.get().map(|macs| macs.0.as_slice()).unwrap_or_default();
    let name = |nth: usize| match names.get(nth) {
        Some(name) => name.value.clone(),
        None => LinkName::parse(&format!("eth{nth}")).expect("a link name"),
    };
    if !macs.is_empty() {
        let port = |(nth, mac): (usize, &At<_>)| Port {
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
                gaps.note("macs", Rule::Mac, mac).map(|mac| Decided::derived(mac, Rule::Mac, None))
            });
            Port { name: name(nth), mac: mac.flatten() }
        })
        .collect()
}

type Families = (Key<AddressOrPrefix4>, Key<AddressOrPrefix6>);

/// Where a node's addresses in one network come from.
struct Source<'s> {
    own: Option<Families>,
    below: Option<Families>,
    ground: &'s Prefixes,
    index: Option<u32>,
    spelling: Digits,
}

impl Source<'_> {
    fn addresses(&self, key4: &'static str, key6: &'static str, host: bool, gaps: &mut Gaps<'_>) -> Prefixes {
        Prefixes { v4: self.v4(key4, host, gaps), v6: self.v6(key6, host, gaps) }
    }

    /// Only what the node itself has written: with DHCP nothing is derived.
    fn written(&self) -> Prefixes {
        let v4 = self.own.as_ref().and_then(|(v4, _)| self.own4(v4, false));
        let v6 = self.own.as_ref().and_then(|(_, v6)| self.own6(v6, false));
        Prefixes { v4, v6 }
    }

    fn own4(&self, key: &Key<AddressOrPrefix4>, host: bool) -> Option<Decided<Ipv4Net>> {
        let at = key.at()?;
        let address = at.value.own()?;
        let around = self.below.as_ref().and_then(|(v4, _)| v4.get()?.around());
        let inherited =
            around.or(self.ground.v4.as_ref().map(|v4| v4.value)).filter(|net| net.contains(&address));
        let length =
            if host { 32 } else { at.value.length.or(inherited.map(|net| net.prefix_len())).unwrap_or(32) };
        Some(Decided::written(Ipv4Net::new_assert(address, length), at.place))
    }

    fn own6(&self, key: &Key<AddressOrPrefix6>, host: bool) -> Option<Decided<Ipv6Net>> {
        let at = key.at()?;
        let address = at.value.own()?;
        let around = self.below.as_ref().and_then(|(_, v6)| v6.get()?.around());
        let inherited =
            around.or(self.ground.v6.as_ref().map(|v6| v6.value)).filter(|net| net.contains(&address));
        let length =
            if host { 128 } else { at.value.length.or(inherited.map(|net| net.prefix_len())).unwrap_or(128) };
        Some(Decided::written(Ipv6Net::new_assert(address, length), at.place))
    }

    fn v4(&self, key: &'static str, host: bool, gaps: &mut Gaps<'_>) -> Option<Decided<Ipv4Net>> {
        let below = self.below.as_ref().map(|(v4, _)| v4);
        if let Some(own) = below.and_then(|v4| self.own4(v4, host)) {
            return Some(own);
        }
        let (prefix, place) = match below.filter(|v4| v4.is_written()) {
            Some(written) => (written.get()?.prefix()?, written.place()),
            None => (self.ground.v4.as_ref()?.value, self.ground.v4.as_ref()?.place()),
        };
        let address = self.index.ok_or(GapReason::NoIndex).and_then(|index| derive::host4(prefix, index));
        let address = gaps.note(key, Rule::Host4, address)?;
        let length = if host { 32 } else { prefix.prefix_len() };
        Some(Decided::derived(Ipv4Net::new_assert(address, length), Rule::Host4, place))
    }

    fn v6(&self, key: &'static str, host: bool, gaps: &mut Gaps<'_>) -> Option<Decided<Ipv6Net>> {
        let below = self.below.as_ref().map(|(_, v6)| v6);
        if let Some(own) = below.and_then(|v6| self.own6(v6, host)) {
            return Some(own);
        }
        let (prefix, place) = match below.filter(|v6| v6.is_written()) {
            Some(written) => (written.get()?.prefix()?, written.place()),
            None => (self.ground.v6.as_ref()?.value, self.ground.v6.as_ref()?.place()),
        };
        let address = self
            .index
            .ok_or(GapReason::NoIndex)
            .and_then(|index| derive::host6(prefix, index, self.spelling));
        let address = gaps.note(key, Rule::Host6, address)?;
        let length = if host { 128 } else { prefix.prefix_len() };
        Some(Decided::derived(Ipv6Net::new_assert(address, length), Rule::Host6, place))
    }
}

fn gateways(network: Option<&Network>, ground: &Ground, address: &Prefixes) -> Gateways {
    let written = network.and_then(|network| network.node.get()).and_then(|node| node.gateway.get());
    let v4 = written.and_then(|gateway| gateway.v4.at()).map(|v4| Decided::written(*v4.value, v4.place));
    let v6 = match written.map(|gateway| &gateway.v6).filter(|v6| v6.is_written()) {
        Some(v6) => v6.at().map(|v6| Decided::written(*v6.value, v6.place)),
        None => ground
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
    gaps: &mut Gaps<'_>,
) -> Vec<DummyPlan> {
    let ground = Prefixes::default();
    let mut dummies = Vec::new();
    for (name, dummy) in
        network.and_then(|network| network.dummy.get()).into_iter().flat_map(|map| map.iter())
    {
        let mine = own.and_then(|own| {
            own.dummy.get()?.get(name.as_str()).map(|at| (at.value.v4.clone(), at.value.v6.clone()))
        });
        let below = Some((dummy.value.v4.clone(), dummy.value.v6.clone()));
        let source = Source { own: mine, below, ground: &ground, index, spelling };
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

/// The VIP on its link; `link` is the node's.
fn vip_of(network: &Network, link: &LinkName) -> Option<VipPlan> {
    let api = network.api.get()?;
    let address = api.vip.value()?;
    // Beside anycast addresses the link is theirs.
    let own = api.link.get().filter(|_| !api.anycast.is_set());
    Some(VipPlan { address, link: own.unwrap_or(link).clone() })
}

/// On the node itself the number; on a lower rung a base.
fn asn(
    cluster: &Cluster,
    node: &Node,
    settings: &Rung,
    routes: bool,
    gaps: &mut Gaps<'_>,
) -> Option<Decided<Asn>> {
    if let Some(own) = node.rung.routing.get().and_then(|routing| routing.asn.at()) {
        return Some(Decided::written(*own.value, own.place));
    }
    let index = node.index.value().ok_or(GapReason::NoIndex);
    let base = settings.routing.get().and_then(|routing| routing.asn.at());
    let (rule, place, result) = match base {
        Some(base) => {
            (Rule::AsnBase, Some(base.place), index.and_then(|index| derive::asn_from(*base.value, index)))
        }
        None => {
            let id = cluster.id().ok_or(GapReason::NoId);
            (Rule::Asn, None, id.and_then(|id| derive::asn(*id.value, index?)))
        }
    };
    let value = if routes { gaps.note("routing.asn", rule, result) } else { result.ok() };
    value.map(|asn| Decided::derived(asn, rule, place))
}

fn router_id(
    cluster: &Cluster,
    node: &Node,
    settings: &Rung,
    loopback: &Prefixes,
    routes: bool,
    gaps: &mut Gaps<'_>,
) -> Option<Decided<Ipv4Addr>> {
    let own = node.rung.routing.get().and_then(|routing| routing.router_id.at());
    if let Some(At { value: RouterId::Address(address), place }) = own {
        return Some(Decided::written(*address, place));
    }
    let written = settings.routing.get().and_then(|routing| routing.router_id.at());
    let index = node.index.value().ok_or(GapReason::NoIndex);
    let (rule, place, result) = match written {
        Some(At { value: RouterId::Loopback, place }) => {
            let address = loopback.v4.as_ref().map(|v4| v4.value.addr());
            return address.map(|address| Decided::derived(address, Rule::RouterIdLoopback, Some(place)));
        }
        Some(At { value: RouterId::Address(base), place }) => {
            (Rule::RouterIdBase, Some(place), index.and_then(|index| derive::router_id_from(*base, index)))
        }
        None => {
            let id = cluster.id().ok_or(GapReason::NoId);
            (Rule::RouterId, None, id.and_then(|id| derive::router_id(*id.value, index?)))
        }
    };
    let value = if routes { gaps.note("routing.router_id", rule, result) } else { result.ok() };
    value.map(|address| Decided::derived(address, rule, place))
}
