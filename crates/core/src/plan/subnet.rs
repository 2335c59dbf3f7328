//! Subnets that the kubelet and etcd of one node may use an address of.

use ipnet::IpNet;

use super::derive::Derivation;
use super::{Decided, NodePlan, Origin, Plan};
use crate::cluster::section::Network;
use ichor_values::Prefix;
use ichor_values::key::{Key, List};

impl Plan {
    /// Subnets that the kubelet of `node` may use an address of: the node's, else the cluster's.
    pub(crate) fn kubelet_subnets(&self, node: &NodePlan) -> Decided<Vec<IpNet>> {
        subnets(node, |network| &network.kubelet_subnets, &self.cluster.kubelet_subnets)
    }

    /// Subnets that etcd on `node` may use an address of: the node's, else the cluster's.
    pub(crate) fn etcd_subnets(&self, node: &NodePlan) -> Decided<Vec<IpNet>> {
        subnets(node, |network| &network.etcd_subnets, &self.cluster.etcd_subnets)
    }

    /// Subnets whose addresses on `node` become etcd's peer URLs: of derived subnets only the node's own addresses.
    ///
    /// A router's advertisements can give the node another address of the same subnet, which other members must not use.
    pub(crate) fn etcd_advertised_subnets(&self, node: &NodePlan) -> Vec<IpNet> {
        let subnets = self.etcd_subnets(node);
        let own: Vec<_> = node.address.iter().map(|(net, _)| IpNet::from(net.addr())).collect();
        let is_within = |address: &IpNet| subnets.value.iter().any(|subnet| subnet.contains(address));
        let is_derived = matches!(subnets.origin, Origin::Derived(Derivation::NodePrefixes, _));
        if is_derived && !own.is_empty() && own.iter().all(is_within) { own } else { subnets.value }
    }
}

fn subnets(
    node: &NodePlan,
    pick: fn(&Network) -> &Key<List<Prefix>>,
    cluster: &Decided<Vec<IpNet>>,
) -> Decided<Vec<IpNet>> {
    let network = node.settings.network.get();
    if let Some(written) = network.and_then(|network| pick(network).at()) {
        return Decided::written(written.value.values().map(|prefix| prefix.0).collect(), written.place);
    }
    let own = own_prefixes(node);
    let covered = |prefix: &IpNet| cluster.value.iter().any(|subnet| subnet.contains(prefix));
    if !matches!(cluster.origin, Origin::Derived(Derivation::NodePrefixes, _)) || own.iter().all(covered) {
        return cluster.clone();
    }
    Decided::derived(own, Derivation::NodePrefixes, network.and_then(|network| network.node.place()))
}

/// The prefixes of the node's addresses; with DHCP the written ones.
fn own_prefixes(node: &NodePlan) -> Vec<IpNet> {
    let addresses: Vec<_> = node.address.iter().map(|(net, _)| net.trunc()).collect();
    if !addresses.is_empty() {
        return addresses;
    }
    let written = node.settings.network.get().and_then(|network| network.node.get());
    let v4 = written.and_then(|node| node.v4.get()?.prefix()).map(IpNet::V4);
    let v6 = written.and_then(|node| node.v6.get()?.prefix()).map(IpNet::V6);
    v4.into_iter().chain(v6).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::planned;

    fn kubelet_of(text: &'static str) -> Vec<String> {
        let plan = planned(text);
        plan.nodes.iter().map(|node| format!("{:?}", plan.kubelet_subnets(node).value)).collect()
    }

    fn etcd_of(text: &'static str) -> Vec<String> {
        let plan = planned(text);
        plan.nodes.iter().map(|node| format!("{:?}", plan.etcd_advertised_subnets(node))).collect()
    }

    #[test]
    fn etcd_advertises_no_slaac_address_of_the_node_prefix() {
        let subnets = etcd_of(
            "{cluster: {name: sol, id: 101, talos: v1.13.9},
              nodes: [{name: a, role: controlplane, index: 11}, {name: b, role: controlplane, index: 12}]}",
        );

        assert_eq!(subnets, ["[10.101.0.11/32, fd00:101::11/128]", "[10.101.0.12/32, fd00:101::12/128]"]);
    }

    #[test]
    fn etcd_advertises_written_subnets_and_those_of_dhcp_unchanged() {
        let written = etcd_of(
            "{cluster: {name: sol, id: 101, talos: v1.13.9}, network: {etcd_subnets: [10.101.0.0/24]},
              nodes: [{name: a, role: controlplane, index: 11}]}",
        );
        let dhcp = etcd_of(
            "{cluster: {name: sol, id: 101, talos: v1.13.9}, network: {node: {v6: null, addressing: dhcp}},
              nodes: [{name: a, role: controlplane, index: 11}]}",
        );

        assert_eq!([&written[0], &dhcp[0]], ["[10.101.0.0/24]"; 2]);
    }

    #[test]
    fn a_site_with_its_own_prefix_has_its_own_subnets() {
        let subnets = kubelet_of(
            "{cluster: {name: sol, id: 101, talos: v1.13.9}, network: {node: {v6: null}},
              sites: {berlin: {network: {node: {v4: 10.9.0.0/24}}}, paris: {}},
              nodes: [{name: a, index: 11, site: berlin}, {name: b, index: 12, site: paris}]}",
        );

        assert_eq!(subnets, ["[10.9.0.0/24]", "[10.101.0.0/24]"]);
    }

    #[test]
    fn the_written_prefix_is_used_with_dhcp() {
        let subnets = kubelet_of(
            "{cluster: {name: sol, id: 101, talos: v1.13.9}, network: {node: {v6: null, addressing: dhcp}},
              sites: {berlin: {network: {node: {v4: 10.9.0.0/24}}}},
              nodes: [{name: a, index: 11, site: berlin}, {name: b, index: 12}]}",
        );

        assert_eq!(subnets, ["[10.9.0.0/24]", "[10.101.0.0/24]"]);
    }

    #[test]
    fn written_subnets_override_derived_ones() {
        let subnets = kubelet_of(
            "{cluster: {name: sol, id: 101, talos: v1.13.9}, network: {node: {v6: null}},
              sites: {berlin: {network: {node: {v4: 10.9.0.0/24}, kubelet_subnets: [10.0.0.0/8]}}},
              nodes: [{name: a, index: 11, site: berlin}]}",
        );

        assert_eq!(subnets, ["[10.0.0.0/8]"]);
    }
}
