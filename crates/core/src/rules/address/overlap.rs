//! Overlapping prefixes.
//!
//! [`collect_claims`] lists every prefix of a cluster with the key that sets it; [`nested_pairs`] finds prefixes inside
//! others. A router's listen range is not included, because it contains the nodes by design.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::cluster::section::Network;
use crate::model::Cluster;
use crate::model::layer;
use crate::plan::{Decided, NodePlan, Origin, Plan, Prefixes};
use crate::rules::tunnel::overlay::OVERLAY;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::Location;
use ichor_values::key::Key;
use ichor_values::listing;
use ichor_values::{AddressOrPrefix4, AddressOrPrefix6};

pub(super) const OVERLAP: Rule = Rule {
    id: "prefix-overlap",
    severity: Severity::Error,
    summary: "two networks share addresses",
    failure: "Hosts and Kubernetes cannot distinguish the two networks. With nodes inside the default service network \
              10.96.0.0/12, which ends at 10.111.255.255, the kubelet rejects every node address as a service address \
              and no node becomes ready.",
    fix: "move one of the two networks; `cluster.services: [172.20.0.0/16]` rarely overlaps another network",
    check: check_overlap,
};

/// The use of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::rules) enum PrefixUse<'c> {
    Node,
    Loopback,
    Dummy(&'c str),
    Anycast,
    Pool(&'c str),
    Pods,
    Services,
    Overlay,
    Workload,
}

/// A prefix and the key that sets it.
#[derive(Clone, Debug)]
pub(in crate::rules) struct PrefixClaim<'c> {
    pub net: IpNet,
    pub(crate) used: PrefixUse<'c>,
    pub key: String,
    /// Its location in the file, if it is written.
    pub place: Option<Location>,
    /// Whether it is Talos' default.
    pub default: bool,
}

/// Every prefix of a cluster.
pub(in crate::rules) fn collect_claims<'c>(cluster: &'c Cluster, plan: &'c Plan) -> Vec<PrefixClaim<'c>> {
    let mut claims = written_prefixes(cluster);
    add_derived(plan, &mut claims);
    for (used, key, networks) in [
        (PrefixUse::Pods, "cluster.pods", &plan.cluster.pods),
        (PrefixUse::Services, "cluster.services", &plan.cluster.services),
    ] {
        add_kubernetes(used, key, networks, &mut claims);
    }
    if let Some(place) = overlay_location(cluster) {
        let net = OVERLAY[0].parse().expect("a prefix");
        claims.push(PrefixClaim {
            net,
            used: PrefixUse::Overlay,
            key: "overlay".to_owned(),
            place: Some(place),
            default: false,
        });
    }
    add_workloads(plan, &mut claims);
    claims
}

/// The location of the first overlay setting.
pub(super) fn overlay_location(cluster: &Cluster) -> Option<Location> {
    let mut overlays = layer::all_layers(cluster).map(|layer| &layer.settings.overlay);
    overlays.find(|overlay| overlay.get().is_some_and(|overlay| overlay.tailscale.is_set()))?.place()
}

/// The keys of `network` that set the addresses of nodes, by a prefix or one address.
pub(in crate::rules) struct AddressKeys<'c> {
    pub(crate) used: PrefixUse<'c>,
    /// Its path below `network`.
    pub key: String,
    pub v4: &'c Key<AddressOrPrefix4>,
    pub v6: &'c Key<AddressOrPrefix6>,
}

/// The address keys of one section.
pub(in crate::rules) fn address_keys(network: &Network) -> impl Iterator<Item = AddressKeys<'_>> {
    let node = network.node.get().map(|node| AddressKeys {
        used: PrefixUse::Node,
        key: "node".to_owned(),
        v4: &node.v4,
        v6: &node.v6,
    });
    let loopback = network.loopback.get().map(|loopback| AddressKeys {
        used: PrefixUse::Loopback,
        key: "loopback".to_owned(),
        v4: &loopback.v4,
        v6: &loopback.v6,
    });
    let dummies = network.dummy.entries().map(|(name, dummy)| AddressKeys {
        used: PrefixUse::Dummy(name.as_str()),
        key: format!("dummy.{name}"),
        v4: &dummy.value.v4,
        v6: &dummy.value.v6,
    });
    node.into_iter().chain(loopback).chain(dummies)
}

/// The prefixes of the layers that nodes inherit from.
fn written_prefixes(cluster: &Cluster) -> Vec<PrefixClaim<'_>> {
    let mut claims = Vec::new();
    for (layer, network) in layer::network_layers(cluster) {
        let mut push = |used, key: &str, net: Option<IpNet>, place| {
            let key = || layer.path(&format!("network.{key}"));
            claims.extend(net.map(|net| PrefixClaim { net, used, key: key(), place, default: false }));
        };
        for AddressKeys { used, key, v4, v6 } in address_keys(network) {
            let nets = (v4.get().and_then(|v4| v4.prefix()), v6.get().and_then(|v6| v6.prefix()));
            push(used, &format!("{key}.v4"), nets.0.map(IpNet::V4), v4.place());
            push(used, &format!("{key}.v6"), nets.1.map(IpNet::V6), v6.place());
        }
        for at in network.api.get().into_iter().flat_map(|api| api.anycast.items()) {
            push(PrefixUse::Anycast, "api.anycast", Some(at.value.0), Some(at.place));
        }
        let pools = network.services.get().into_iter().flat_map(|services| services.pools.entries());
        for (name, prefixes) in pools {
            for at in &prefixes.value.0 {
                let key = format!("services.pools.{name}");
                push(PrefixUse::Pool(name.as_str()), &key, Some(at.value.0), Some(at.place));
            }
        }
    }
    claims
}

/// Adds the prefixes derived from the cluster's ID that a node has an address from.
fn add_derived<'c>(plan: &'c Plan, claims: &mut Vec<PrefixClaim<'c>>) {
    let node: fn(&NodePlan) -> &Prefixes = |node| &node.address;
    let loopback: fn(&NodePlan) -> &Prefixes = |node| &node.loopback;
    let networks = [
        (PrefixUse::Node, "network.node", &plan.cluster.node, node),
        (PrefixUse::Loopback, "network.loopback", &plan.cluster.loopback, loopback),
    ];
    for (used, key, prefixes, node_prefixes) in networks {
        for (net, origin) in prefixes.iter().filter(|(_, origin)| matches!(origin, Origin::Derived(..))) {
            let uses = |node: &NodePlan| used != PrefixUse::Loopback || node.routing.is_some();
            let within = |node: &NodePlan| {
                uses(node) && node_prefixes(node).iter().any(|(own, _)| net.contains(&own.addr()))
            };
            if plan.nodes.iter().any(within) {
                let family = if matches!(net, IpNet::V4(_)) { "v4" } else { "v6" };
                let key = format!("{key}.{family}");
                claims.push(PrefixClaim {
                    net,
                    used,
                    key,
                    place: None,
                    default: matches!(origin, Origin::Default(_)),
                });
            }
        }
    }
}

fn add_kubernetes<'c>(
    used: PrefixUse<'c>,
    key: &str,
    networks: &Decided<Vec<IpNet>>,
    claims: &mut Vec<PrefixClaim<'c>>,
) {
    let default = matches!(networks.origin, Origin::Default(_));
    let claim =
        |net: &IpNet| PrefixClaim { net: *net, used, key: key.to_owned(), place: networks.place(), default };
    claims.extend(networks.value.iter().map(claim));
}

/// Adds the links to the speakers. They are the same on every node, so each counts once.
fn add_workloads<'c>(plan: &Plan, claims: &mut Vec<PrefixClaim<'c>>) {
    let mut known = BTreeSet::new();
    for node in &plan.nodes {
        let Some(workload) = node.routing.as_ref().and_then(|routing| routing.workload.as_ref()) else {
            continue;
        };
        let Some((ours, _)) = &workload.link else { continue };
        let Ok(net) = IpNet::new(ours.value, workload.prefix.value) else { continue };
        if known.insert(net.trunc()) {
            let key = "routing.workload.link".to_owned();
            let place = Some(ours.place().unwrap_or(workload.place));
            claims.push(PrefixClaim {
                net: net.trunc(),
                used: PrefixUse::Workload,
                key,
                place,
                default: false,
            });
        }
    }
}

/// Pairs of indices of which the second prefix is inside the first.
///
/// Two prefixes are nested or disjoint, so the prefixes around one are those still open when it begins.
pub(in crate::rules) fn nested_pairs(nets: &[IpNet]) -> Vec<(usize, usize)> {
    let mut order: Vec<_> = (0..nets.len()).collect();
    order.sort_by_key(|&nth| (nets[nth].network(), nets[nth].prefix_len(), nth));
    let mut open: Vec<usize> = Vec::new();
    let mut pairs = Vec::new();
    for nth in order {
        while open.last().is_some_and(|&outer| !nets[outer].contains(&nets[nth])) {
            open.pop();
        }
        pairs.extend(open.iter().map(|&outer| (outer, nth)));
        open.push(nth);
    }
    pairs
}

/// Whether two prefixes may share addresses: one overrides the other, or both are local to a node or anycast.
fn may_share(one: &PrefixClaim<'_>, other: &PrefixClaim<'_>) -> bool {
    let overrides = one.used == other.used && one.key != other.key;
    overrides || (one.used == other.used && matches!(one.used, PrefixUse::Workload | PrefixUse::Anycast))
}

/// Whether a pool is inside the nodes' network and the cluster has no routing. A node then answers ARP for its addresses,
/// which only works in that network.
fn is_on_node_network(context: &RuleContext<'_>, outer: &PrefixClaim<'_>, inner: &PrefixClaim<'_>) -> bool {
    let pool =
        matches!(inner.used, PrefixUse::Pool(_)) && outer.used == PrefixUse::Node && outer.net != inner.net;
    pool && !context.cluster.has_routing()
}

/// The fault of a pool in the nodes' network that contains an address already in use.
fn contained_address(context: &RuleContext<'_>, pool: IpNet) -> Option<String> {
    let vip = context.plan.cluster.vip.iter().map(|vip| ("the VIP", vip.value));
    let nodes = context.plan.nodes.iter().flat_map(|node| {
        let v4 = node.gateway.v4.as_ref().map(|v4| IpAddr::V4(v4.value));
        let v6 = node.gateway.v6.as_ref().map(|v6| IpAddr::V6(v6.value));
        let gateways = v4.into_iter().chain(v6).map(|gateway| ("a gateway", gateway));
        node.address.iter().map(|(own, _)| (node.name.as_str(), own.addr())).chain(gateways)
    });
    let (whose, address) = vip.chain(nodes).find(|(_, address)| pool.contains(address))?;
    Some(format!("contains {address} ({whose})"))
}

fn check_overlap(context: &RuleContext<'_>, findings: &mut Findings) {
    let claims = collect_claims(context.cluster, context.plan);
    let nets: Vec<_> = claims.iter().map(|claim| claim.net).collect();
    let mut pairs = nested_pairs(&nets);
    pairs.retain(|&(outer, inner)| {
        let (outer, inner) = (&claims[outer], &claims[inner]);
        if is_on_node_network(context, outer, inner) {
            if let Some(fault) = contained_address(context, inner.net) {
                let message = format!("`{}` {} {fault}", inner.key, inner.net);
                findings.add(&inner.key, inner.place.unwrap_or(context.cluster.place()), message);
            }
            return false;
        }
        !may_share(outer, inner)
    });
    pairs.sort_by_key(|&(outer, inner)| (outer, claims[inner].used, inner));
    let same = |a: &(usize, usize), b: &(usize, usize)| a.0 == b.0 && claims[a.1].used == claims[b.1].used;
    for group in pairs.chunk_by(same) {
        let (outer, inner) = (&claims[group[0].0], &claims[group[0].1]);
        let more = match group.len() - 1 {
            0 => String::new(),
            more => format!(" and {} more", listing::thousands(more)),
        };
        let place = inner.place.or(outer.place).or(context.cluster.section().id.place());
        let place = place.unwrap_or(context.cluster.place());
        let (path, message) = overlap_message(outer, inner, &more, &nets);
        findings.add(path, place, message);
    }
}

fn overlap_message(
    outer: &PrefixClaim<'_>,
    inner: &PrefixClaim<'_>,
    more: &str,
    nets: &[IpNet],
) -> (String, String) {
    let relation = if outer.net == inner.net { "is the same as" } else { "is inside" };
    // Equal prefixes come in any order; the default is the one that can move.
    let (outer, inner) =
        if inner.default && outer.net == inner.net { (inner, outer) } else { (outer, inner) };
    let named = |claim: &PrefixClaim<'_>| format!("`{}` {}", claim.key, claim.net);
    if outer.default || inner.default {
        let (ours, other) = if outer.default { (outer, inner) } else { (inner, outer) };
        let noun = if ours.used == PrefixUse::Services { "service" } else { "pod" };
        let verb = if outer.default { "contains" } else { "is inside" };
        let write =
            unused_prefix(nets).map(|net| format!("; write `{}: [{net}]`", ours.key)).unwrap_or_default();
        let (first, last) = (ours.net.network(), ours.net.broadcast());
        let message = format!(
            "Talos' default {noun} network {} ({first} to {last}) {verb} {}{more}{write}",
            ours.net,
            named(other)
        );
        return (ours.key.clone(), message);
    }
    let around =
        if outer.used == PrefixUse::Overlay { format!("the overlay's {}", outer.net) } else { named(outer) };
    (inner.key.clone(), format!("{}{more} {relation} {around}", named(inner)))
}

/// A private IPv4 prefix that is not in use.
fn unused_prefix(nets: &[IpNet]) -> Option<IpNet> {
    let preferred = (20..32).map(|second| (172, second));
    let others = (0..=255).map(|second| (10, second));
    let prefix = |(first, second)| format!("{first}.{second}.0.0/16").parse::<IpNet>().expect("a prefix");
    let is_unused = |net: &IpNet| !nets.iter().any(|other| other.contains(net) || net.contains(other));
    preferred.chain(others).map(prefix).find(is_unused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_found_in_every_prefix_around_them() {
        let nets: Vec<IpNet> =
            ["10.0.0.0/8", "10.101.0.0/16", "fd00::/8", "10.101.0.0/24", "10.102.0.0/16", "11.0.0.0/8"]
                .map(|net| net.parse().unwrap())
                .to_vec();

        assert_eq!(nested_pairs(&nets), [(0, 1), (0, 3), (1, 3), (0, 4)]);
    }

    #[test]
    fn the_proposed_prefix_is_unused() {
        let nets: Vec<IpNet> =
            ["172.20.0.0/15", "172.22.4.0/24", "fd00::/8"].map(|net| net.parse().unwrap()).to_vec();

        assert_eq!(unused_prefix(&nets).unwrap().to_string(), "172.23.0.0/16");
    }
}
