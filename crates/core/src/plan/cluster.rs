//! Cluster-wide settings.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::derive::{self, Derivation};
use super::node::ClusterPrefixes;
use super::{ClusterPlan, Decided, Gap, GapReason, NodePlan, Prefixes, addon, talos_config};
use crate::cluster::section::{Api, ClusterSection, Firewall, Loopback, Network, NodeNetwork, Role};
use crate::model::Cluster;
use ichor_talos::release;
use ichor_values::key::{Key, List};
use ichor_values::{
    AddressOrPrefix4, AddressOrPrefix6, Endpoint, KubernetesVersion, NodeName, Prefix, TalosVersion, Word,
};

/// The prefix of Tailscale addresses.
pub(crate) const OVERLAY: &str = "100.64.0.0/10";

/// The cluster-wide prefixes of node addresses: written, or derived from the cluster's ID.
pub fn prefixes(cluster: &Cluster, gaps: &mut Vec<Gap>) -> ClusterPrefixes {
    let network = cluster.network();
    let node = network.map(|network| &network.node);
    let loopback = network.map(|network| &network.loopback);
    let mut planner = PrefixPlanner { id: cluster.id().map(|id| *id.value), gaps };
    // A cleared network derives nothing.
    let drop_node = node.is_some_and(|node| node.is_written() && !node.is_set());
    let drop_loopback = loopback.is_some_and(|node| node.is_written() && !node.is_set());
    let keys = |node: &NodeNetwork| (node.v4.clone(), node.v6.clone());
    let node_keys = node.and_then(|node| node.get()).map(keys).unwrap_or_default();
    let keys = |node: &Loopback| (node.v4.clone(), node.v6.clone());
    let loopback_keys = loopback.and_then(|node| node.get()).map(keys).unwrap_or_default();
    let node = if drop_node {
        Prefixes::default()
    } else {
        planner.prefixes(
            &node_keys,
            (Derivation::NodePrefix4, 0, "network.node.v4"),
            (Derivation::NodePrefix6, 0, "network.node.v6"),
        )
    };
    let gaps_before = planner.gaps.len();
    let loopback = if drop_loopback {
        Prefixes::default()
    } else {
        let (v4, v6) = (
            (Derivation::LoopbackPrefix4, 254, "network.loopback.v4"),
            (Derivation::LoopbackPrefix6, 0xfe, "network.loopback.v6"),
        );
        planner.prefixes(&loopback_keys, v4, v6)
    };
    // Without routing, no node needs a loopback.
    if !cluster.has_routing() {
        planner.gaps.truncate(gaps_before);
    }
    let gateway = planner
        .id
        .and_then(|id| derive::gateway6(id).ok())
        .map(|v6| Decided::derived(v6, Derivation::Gateway6, None));
    ClusterPrefixes { node, loopback, gateway }
}

struct PrefixPlanner<'g> {
    id: Option<u32>,
    gaps: &'g mut Vec<Gap>,
}

impl PrefixPlanner<'_> {
    fn prefixes(
        &mut self,
        keys: &(Key<AddressOrPrefix4>, Key<AddressOrPrefix6>),
        (rule4, third4, key4): (Derivation, u8, &'static str),
        (rule6, third6, key6): (Derivation, u16, &'static str),
    ) -> Prefixes {
        let v4 = if keys.0.is_written() {
            keys.0.at().and_then(|at| Some(Decided::written(at.value.prefix()?, at.place)))
        } else {
            let prefix = self.id.map(|id| derive::prefix4(id, third4));
            self.record_gap(key4, rule4, prefix).map(|prefix| Decided::derived(prefix, rule4, None))
        };
        let v6 = if keys.1.is_written() {
            keys.1.at().and_then(|at| Some(Decided::written(at.value.prefix()?, at.place)))
        } else {
            let prefix = self.id.map(|id| derive::prefix6(id, third6));
            self.record_gap(key6, rule6, prefix).map(|prefix| Decided::derived(prefix, rule6, None))
        };
        Prefixes { v4, v6 }
    }

    /// Records a gap. Without an ID nothing is derived, and a missing address is reported for the node.
    fn record_gap<T>(
        &mut self,
        key: &'static str,
        rule: Derivation,
        result: Option<Result<T, GapReason>>,
    ) -> Option<T> {
        result?.map_err(|reason| self.gaps.push(Gap { node: None, key, rule, reason })).ok()
    }
}

/// Decides the cluster-wide settings.
pub fn plan(cluster: &Cluster, prefixes: ClusterPrefixes, nodes: &[NodePlan]) -> ClusterPlan {
    let section = cluster.section();
    let network = cluster.network();
    let control_planes = || nodes.iter().filter(|node| node.role == Role::Controlplane);
    let contract = contract(cluster, nodes);
    // Any layer may have it, and it concerns only control planes.
    let api = control_planes().next().map_or(network, |first| first.settings.network.get());
    let (vip, anycast) = api_addresses(section, api.and_then(|network| network.api.get()));
    let subnets = |pick: fn(&Network) -> &Key<List<Prefix>>| subnets(cluster, &prefixes, network.map(pick));
    let (kubelet_subnets, etcd_subnets) =
        (subnets(|network| &network.kubelet_subnets), subnets(|network| &network.etcd_subnets));
    let cni = addon::cni(section);
    ClusterPlan {
        name: section.name.get().expect("checked: required").clone(),
        id: section.id.value(),
        talos: cluster.talos.clone(),
        kubernetes: kubernetes(section, &contract),
        contract,
        endpoint: Decided::from_key(&section.endpoint)
            .or_else(|| endpoint(vip.as_ref(), &anycast, control_planes().next())),
        talos_endpoints: talos_endpoints(section, control_planes()),
        bootstrap: bootstrap(section, control_planes().next()),
        sans: Decided::from_key(&section.sans),
        pods: networks(&section.pods, "10.244.0.0/16", "Talos' default pod network"),
        services: networks(&section.services, "10.96.0.0/12", "Talos' default service network"),
        kube_proxy: addon::kube_proxy(section, &cni.value),
        cilium: addon::cilium(section, &cni.value),
        flannel_args: addon::flannel_args(section),
        cni,
        kube_vip: addon::kube_vip(section, nodes),
        kubeprism: Decided::from_key_or(&section.kubeprism, 7445, "Talos' default port"),
        discovery: talos_config::discovery(section),
        registries: talos_config::registries(section),
        firewall: Decided::from_key_or(&section.firewall, Firewall::Off, "Talos' default"),
        encryption: talos_config::encryption(section),
        node: prefixes.node,
        loopback: prefixes.loopback,
        vip,
        anycast,
        pools: pools(cluster),
        relays: relays(cluster),
        kubelet_subnets,
        etcd_subnets,
    }
}

/// The VIP and the anycast addresses.
fn api_addresses(
    section: &ClusterSection,
    api: Option<&Api>,
) -> (Option<Decided<IpAddr>>, Vec<Decided<IpNet>>) {
    let of_kube_vip = || Decided::from_key(&section.kube_vip.get()?.address);
    let vip = api.and_then(|api| Decided::from_key(&api.vip)).or_else(of_kube_vip);
    let anycast = api.into_iter().flat_map(|api| api.anycast.items());
    (vip, anycast.map(|at| Decided::written(at.value.0, at.place)).collect())
}

/// Subnets that a daemon may use an address of, cluster-wide.
fn subnets(
    cluster: &Cluster,
    prefixes: &ClusterPrefixes,
    key: Option<&Key<List<Prefix>>>,
) -> Decided<Vec<IpNet>> {
    if let Some(at) = key.and_then(Key::at) {
        return Decided::written(at.value.values().map(|prefix| prefix.0).collect(), at.place);
    }
    let overlay = &cluster.file.overlay;
    if overlay.get().is_some_and(|overlay| overlay.tailscale.is_set()) {
        let addresses = vec![OVERLAY.parse().expect("a prefix")];
        return Decided::derived(addresses, Derivation::OverlayPrefix, overlay.place());
    }
    // Nodes without addresses on their ports are identified by their loopbacks.
    let from = if prefixes.node.iter().next().is_some() { &prefixes.node } else { &prefixes.loopback };
    Decided::derived(from.iter().map(|(prefix, _)| prefix).collect(), Derivation::NodePrefixes, None)
}

fn kubernetes(
    section: &ClusterSection,
    contract: &Decided<TalosVersion>,
) -> Option<Decided<KubernetesVersion>> {
    Decided::from_key(&section.kubernetes).or_else(|| {
        let version = release::default_kubernetes(&contract.value)?;
        Some(Decided::derived(version, Derivation::TalosDefault, contract.place()))
    })
}

fn talos_endpoints<'n>(
    section: &ClusterSection,
    control_planes: impl Iterator<Item = &'n NodePlan>,
) -> Decided<Vec<String>> {
    match section.talos_endpoints.at() {
        Some(at) => Decided::written(at.value.values().map(ToString::to_string).collect(), at.place),
        None => {
            let addresses = control_planes.filter_map(NodePlan::main_address);
            let addresses = addresses.map(|address| address.to_string()).collect();
            Decided::derived(addresses, Derivation::ControlPlanes, None)
        }
    }
}

fn bootstrap(section: &ClusterSection, first: Option<&NodePlan>) -> Option<Decided<NodeName>> {
    let derived = |node: &NodePlan| {
        Decided::derived(node.name.clone(), Derivation::FirstControlPlane, Some(node.place))
    };
    Decided::from_key(&section.bootstrap).or_else(|| first.map(derived))
}

fn contract(cluster: &Cluster, nodes: &[NodePlan]) -> Decided<TalosVersion> {
    match nodes.iter().map(|node| &node.talos).min_by(|a, b| a.value.cmp(&b.value)) {
        Some(oldest) => Decided::derived(oldest.value.clone(), Derivation::Oldest, oldest.place()),
        None => Decided::written(cluster.talos.clone(), cluster.section().talos.place().unwrap_or_default()),
    }
}

fn networks(key: &Key<List<Prefix>>, default: &str, reason: &'static str) -> Decided<Vec<IpNet>> {
    match key.at() {
        Some(at) => Decided::written(at.value.values().map(|prefix| prefix.0).collect(), at.place),
        None => Decided::default(vec![default.parse().expect("a prefix")], reason),
    }
}

fn endpoint(
    vip: Option<&Decided<IpAddr>>,
    anycast: &[Decided<IpNet>],
    first: Option<&NodePlan>,
) -> Option<Decided<Endpoint>> {
    let url = |address: IpAddr| {
        let host = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
        Endpoint::parse(&format!("https://{host}:6443")).expect("a URL")
    };
    if let Some(vip) = vip {
        return Some(Decided::derived(url(vip.value), Derivation::EndpointVip, vip.place()));
    }
    if let Some(anycast) = anycast.first() {
        return Some(Decided::derived(
            url(anycast.value.addr()),
            Derivation::EndpointAnycast,
            anycast.place(),
        ));
    }
    let node = first?;
    Some(Decided::derived(url(node.main_address()?), Derivation::EndpointNode, Some(node.place)))
}

fn relays(cluster: &Cluster) -> BTreeMap<Word, Decided<IpAddr>> {
    let sites = cluster.file.sites.entries();
    sites.filter_map(|(name, site)| Some((name.clone(), Decided::from_key(&site.value.relay)?))).collect()
}

fn pools(cluster: &Cluster) -> Vec<(Word, Vec<Decided<IpNet>>)> {
    let services = cluster.network().and_then(|network| network.services.get());
    let pools = services.and_then(|services| services.pools.get());
    pools
        .into_iter()
        .flat_map(|pools| pools.iter())
        .map(|(name, prefixes)| {
            (name.clone(), prefixes.value.0.iter().map(|at| Decided::written(at.value.0, at.place)).collect())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::planned;

    #[test]
    fn nodes_without_routing_have_no_loopback_gap() {
        let plan = planned(
            "{cluster: {name: sol, id: 300, talos: v1.13.9}, network: {node: {v4: 10.30.0.0/16}},
              nodes: [{name: a, index: 301}, {name: b, index: 302, network: {loopback: {v4: 10.3.0.2}}}]}",
        );

        assert!(plan.cluster.loopback.v4.is_none());
        assert!(plan.nodes[0].loopback.v4.is_none());
        assert_eq!(plan.nodes[1].loopback.v4.as_ref().unwrap().value.to_string(), "10.3.0.2/32");
        assert!(plan.gaps.is_empty(), "{:?}", plan.gaps);
    }

    #[test]
    fn a_vip_under_the_control_planes_role_is_the_endpoint() {
        let plan = planned(
            "{cluster: {name: sol, id: 101, talos: v1.13.9},
              roles: {controlplane: {network: {api: {vip: 10.101.0.10}}}},
              nodes: [{name: w, index: 21}, {name: c, role: controlplane, index: 11}]}",
        );

        assert_eq!(plan.cluster.vip.unwrap().value.to_string(), "10.101.0.10");
        assert_eq!(plan.cluster.endpoint.unwrap().value.as_str(), "https://10.101.0.10:6443");
    }
}
