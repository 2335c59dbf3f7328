//! Kernel routes from gobgpd's table.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use crate::agent::Link;
use crate::agent::route::{MAIN, NextHop, Route};
use crate::model::fabric::{Neighbor, PeerAddress};
use crate::model::{BgpModel, Family};

/// A path in gobgpd's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BgpPath {
    /// The destination.
    pub net: IpNet,
    /// The next hops that the neighbour advertised: one, or a global and a link-local one.
    pub hops: Vec<IpAddr>,
    /// The neighbour's address, link-local ones with `%PORT`; none for paths that the agent added.
    pub from: Option<String>,
    /// Whether it is the best path or equal to it.
    pub best: bool,
}

/// The routes of a node, from the best paths of the fabric neighbours.
///
/// Paths of the load balancer and of the node's own addresses give no routes. Neither do paths of an address family that the
/// session does not have, of an unknown neighbour, or over a missing link.
pub fn routes(model: &BgpModel, paths: &[BgpPath], links: &[Link]) -> Vec<Route> {
    let own: BTreeSet<IpNet> = model.fabric.announced.iter().map(|announced| announced.net).collect();
    let mut next_hops: BTreeMap<IpNet, BTreeSet<NextHop>> = BTreeMap::new();
    for path in paths.iter().filter(|path| path.best && !own.contains(&path.net)) {
        if let Some(hop) = next_hop(model, path, links) {
            next_hops.entry(path.net).or_default().insert(hop);
        }
    }
    let source = |net: IpNet| model.sources.iter().copied().find(|source| source.is_ipv4() == is_v4(net));
    next_hops.into_iter().map(|(net, hops)| Route::from_agent(MAIN, net, source(net), hops)).collect()
}

/// The prefixes that are exported to fabric neighbours: those of the agent and those of the load balancer.
pub fn exported_prefixes(model: &BgpModel, paths: &[BgpPath]) -> BTreeSet<IpNet> {
    let is_from_fabric =
        |path: &BgpPath| path.from.as_deref().is_some_and(|from| neighbor(model, from).is_some());
    paths.iter().filter(|path| path.best && !is_from_fabric(path)).map(|path| path.net).collect()
}

/// Whether a prefix is no longer exported while other neighbours still advertise it.
///
/// GoBGP 4.8 then does not withdraw it from the neighbour whose path is now the best: that path contains the neighbour's AS
/// number, and GoBGP withdraws the prefix from the other neighbours only.
pub fn owes_withdrawal(before: &BTreeSet<IpNet>, exported: &BTreeSet<IpNet>, paths: &[BgpPath]) -> bool {
    before.difference(exported).any(|net| paths.iter().any(|path| path.net == *net))
}

fn is_v4(net: IpNet) -> bool {
    Family::of(net) == Family::V4
}

fn next_hop(model: &BgpModel, path: &BgpPath, links: &[Link]) -> Option<NextHop> {
    let (address, port, neighbor) = neighbor(model, path.from.as_deref()?)?;
    if !neighbor.families.contains(&Family::of(path.net)) {
        return None;
    }
    let mut hops = path.hops.iter().copied();
    let (address, link) = match port {
        // On an unnumbered port the neighbour is the next hop, whatever global address it advertises.
        Some(port) => {
            (hops.find(is_link_local).unwrap_or(address), links.iter().find(|link| link.name == port)?)
        }
        None => {
            let hop = hops.find(|hop| !is_link_local(hop) && !hop.is_unspecified())?;
            let reaches = |link: &&Link| link.addresses.iter().any(|net| net.contains(&hop));
            (hop, links.iter().find(reaches)?)
        }
    };
    Some(NextHop { via: Some(address), link: link.index })
}

/// The fabric neighbour with this address, with the address and the port.
fn neighbor<'a>(model: &'a BgpModel, from: &'a str) -> Option<(IpAddr, Option<&'a str>, &'a Neighbor)> {
    let (address, port) = match from.split_once('%') {
        Some((address, port)) => (address, Some(port)),
        None => (from, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let neighbor = model.fabric.neighbors.iter().find(|neighbor| has_address(neighbor, address, port))?;
    Some((address, port, neighbor))
}

fn has_address(neighbor: &Neighbor, address: IpAddr, port: Option<&str>) -> bool {
    match &neighbor.found {
        PeerAddress::Port { name, .. } => port == Some(name.as_str()),
        PeerAddress::Address { address: configured, .. } => *configured == address,
    }
}

fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::config::{AgentConfig, ConfigSource};

    /// Two leafs on ports, a gateway for IPv6 only, a load balancer, and an anycast address.
    fn model() -> BgpModel {
        let session = |families: &[&str]| json!({"address_families": families, "timers": {"keepalive_seconds": 3, "hold_seconds": 9}});
        let port = |name: &str| json!({"peer": {"interface": {"name": name}}, "session": session(&["ipv4", "ipv6"])});
        let gateway = json!({"peer": {"ip": {"address": "fd00::9"}}, "session": session(&["ipv6"])});
        let end = |address: &str| json!({"interface": "veth", "address": address, "asn": 65010});
        let file = json!({"version": "1.0", "backend": "gobgp", "bgp": {
            "node": "n1", "asn": 65001, "router_id": "10.1.1.1",
            "source_addresses": ["10.1.1.1", "fd00:1::1"],
            "neighbors": [port("eth0"), port("eth1"), gateway],
            "announced_addresses": [{"kind": "anycast", "interface": "dummy1", "prefix": "10.1.1.100/32"}],
            "import_policy": {"prefixes": []},
            "export_policy": {},
            "load_balancer": {
                "software": "metallb", "isolation": "none", "local": end("192.168.250.254"),
                "remote": end("192.168.250.255"), "prefix_length": 31, "address_families": ["ipv4"],
                "timers": {"keepalive_seconds": 3, "hold_seconds": 9}, "import_prefixes": [],
            },
        }});
        let parsed = AgentConfig::parse(&file.to_string()).unwrap();
        let ConfigSource::Model(bgp) = parsed.config.source else { panic!("{file}") };
        bgp.model
    }

    fn path(net: &str, hops: &[&str], from: &str) -> BgpPath {
        let hops = hops.iter().map(|hop| hop.parse().unwrap()).collect();
        let from = Some(from.to_owned()).filter(|from| !from.is_empty());
        BgpPath { net: net.parse().unwrap(), hops, from, best: true }
    }

    fn links() -> Vec<Link> {
        let named = |(index, name): (u32, &str)| Link { index, name: name.to_owned(), ..Link::default() };
        let mut links: Vec<Link> = [(1, "eth0"), (2, "eth1"), (3, "eth2"), (4, "eth9")].map(named).into();
        links[2].addresses = vec!["fd00::1/64".parse().unwrap()];
        links
    }

    fn computed(paths: &[BgpPath]) -> Vec<String> {
        let hop = |hop: &NextHop| format!("{}%{}", hop.via.unwrap(), hop.link);
        let route = |route: &Route| {
            let next_hops: Vec<_> = route.hops.iter().map(hop).collect();
            format!("{} via {} src {}", route.prefix, next_hops.join(" "), route.source.unwrap())
        };
        routes(&model(), paths, &links()).iter().map(route).collect()
    }

    #[test]
    fn a_withdrawal_is_owed_for_a_prefix_that_only_neighbours_still_advertise() {
        let speaker = path("203.0.113.1/32", &["192.168.250.255"], "192.168.250.255");
        let own = path("10.1.1.100/32", &["0.0.0.0"], "");
        let leaf = path("203.0.113.1/32", &["fe80::1"], "fe80::1%eth0");
        let nets = |paths: &[BgpPath]| exported_prefixes(&model(), paths);

        let all = nets(&[BgpPath { best: false, ..leaf.clone() }, speaker.clone(), own.clone()]);

        assert_eq!(all, nets(&[speaker, own.clone()]));
        assert_eq!(all.len(), 2);
        let left = [leaf, own.clone()];
        assert!(owes_withdrawal(&all, &nets(&left), &left));
        assert!(!owes_withdrawal(&nets(&left), &all, &left), "the prefix is exported again");
        let alone = [own];
        assert!(!owes_withdrawal(&all, &nets(&alone), &alone), "no neighbour advertises the prefix");
    }

    #[test]
    fn equal_paths_are_next_hops_of_one_route() {
        let paths = [
            path("0.0.0.0/0", &["fe80::2"], "fe80::2%eth1"),
            path("0.0.0.0/0", &["fe80::1"], "fe80::1%eth0"),
            BgpPath { best: false, ..path("0.0.0.0/0", &["fe80::9"], "fe80::9%eth1") },
        ];

        assert_eq!(computed(&paths), ["0.0.0.0/0 via fe80::1%1 fe80::2%2 src 10.1.1.1"]);
    }

    #[test]
    fn the_next_hop_is_link_local_on_a_port_and_global_elsewhere() {
        let paths = [
            path("2001:db8::/32", &["fd00:5::5", "fe80::1"], "fe80::1%eth0"),
            path("2001:db9::/32", &["::"], "fe80::1%eth0"),
            path("2001:dba::/32", &["fd00::9", "fe80::9"], "fd00::9"),
        ];

        assert_eq!(
            computed(&paths),
            [
                "2001:db8::/32 via fe80::1%1 src fd00:1::1",
                "2001:db9::/32 via fe80::1%1 src fd00:1::1",
                "2001:dba::/32 via fd00::9%3 src fd00:1::1",
            ]
        );
    }

    #[test]
    fn paths_of_the_load_balancer_the_node_and_unknown_neighbours_are_not_installed() {
        let paths = [
            path("203.0.113.7/32", &["192.168.250.255"], "192.168.250.255"),
            path("10.1.1.1/32", &["0.0.0.0"], ""),
            path("10.1.1.100/32", &["fe80::1"], "fe80::1%eth0"),
            path("198.51.100.0/24", &["fd00::9"], "fd00::9"),
            path("198.51.100.0/24", &["fe80::1"], "fe80::1%eth9"),
            path("2001:db8::/32", &["fd00::8"], "fd00::8"),
            path("2001:db8::/32", &["fd00:7::7"], "fd00::9"),
        ];

        assert_eq!(computed(&paths), [""; 0]);
    }

    #[test]
    fn neighbours_on_ports_without_a_router_are_omitted() {
        let model = super::super::without_undiscovered(&model(), |port| port.as_str() == "eth1");

        let found: Vec<_> = model.fabric.neighbors.iter().map(|neighbor| &neighbor.found).collect();
        assert_eq!(found.len(), 2);
        assert!(matches!(found[0], PeerAddress::Port { name, .. } if name.as_str() == "eth1"));
        assert!(matches!(found[1], PeerAddress::Address { .. }));
    }
}
