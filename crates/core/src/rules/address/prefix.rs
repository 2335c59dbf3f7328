//! Prefixes of the wrong size and addresses outside their prefix.

use std::net::IpAddr;

use ipnet::IpNet;

use super::overlap::{self, AddressKeys, OVERLAP};
use crate::cluster::section::Addressing;
use crate::model::layer;
use crate::model::layer::Layer;
use crate::plan::{CniPlan, Decided, NodePlan, Plan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::key::Key;
use ichor_values::listing;

pub(super) const RULES: &[Rule] = &[OVERLAP, TOO_SMALL, TOO_LARGE, FAMILIES, HOST_BITS, ANYCAST, GATEWAY];

const TOO_SMALL: Rule = Rule {
    id: "prefix-too-small",
    severity: Severity::Error,
    summary: "a network has too few addresses",
    failure: "Kubernetes assigns a /24 of the pod network to each node. From a /22, the fifth node gets none, and \
              every pod on it waits for an address.",
    fix: "use a larger prefix",
    check: check_too_small,
};

const TOO_LARGE: Rule = Rule {
    id: "prefix-too-large",
    severity: Severity::Error,
    summary: "a network is larger than Kubernetes accepts",
    failure: "Up to Kubernetes 1.33 the API server accepts a service network of at most 20 bits. With a /64 it logs one \
              line and exits, and the endpoint never answers.",
    fix: "use a smaller prefix: a /108 is enough for a million services, a /48 for 65,536 nodes",
    check: check_too_large,
};

const FAMILIES: Rule = Rule {
    id: "pod-service-families",
    severity: Severity::Error,
    summary: "pods and services have addresses of different IP families",
    failure: "Talos requires as many service networks as pod networks, of the same families, and rejects the \
              configuration. Older releases accept it, and services never get an address of the missing family.",
    fix: "write `cluster.pods` and `cluster.services` with one prefix of each family, or both with one of the same \
          family",
    check: check_families,
};

const ANYCAST: Rule = Rule {
    id: "anycast-not-host",
    severity: Severity::Error,
    summary: "an anycast address has a network's prefix length",
    failure: "With 10.0.0.100/24 every control plane treats the whole /24 as its own link and announces it, and the \
              other machines of that network become unreachable.",
    fix: "write the address with /32, or /128 for IPv6",
    check: check_anycast,
};

const HOST_BITS: Rule = Rule {
    id: "prefix-host-bits",
    severity: Severity::Error,
    summary: "a setting that several nodes share is a single node's address",
    failure: "With `defaults.network.node.v4: 10.101.0.11/24` every node takes this address instead of one from the \
              prefix, and the switch moves it from port to port.",
    fix: "write the prefix without host bits in the shared setting, and a node's own address on the node",
    check: check_host_bits,
};

const GATEWAY: Rule = Rule {
    id: "gateway-outside-prefix",
    severity: Severity::Error,
    summary: "a node's gateway is not in the node's network",
    failure: "The kernel rejects the default route because no connected network contains its next hop. The nodes reach \
              each other only.",
    fix: "use a gateway within the prefix, or a link-local IPv6 one",
    check: check_gateway,
};

/// The prefix that a key sets, or the cluster's prefix if the key is not written.
macro_rules! effective_prefix {
    ($key:expr, $cluster:expr, $family:path) => {
        match $key.filter(|key| key.is_written()) {
            Some(key) => key.get().and_then(|value| value.around()).map($family),
            None => $cluster.as_ref().map(|prefix| $family(prefix.value)),
        }
    };
}

fn node_prefixes(plan: &Plan, node: &NodePlan) -> [Option<IpNet>; 2] {
    let network = node.written().network.get().and_then(|network| network.node.get());
    let cluster = &plan.cluster.node;
    [
        effective_prefix!(network.map(|network| &network.v4), cluster.v4, IpNet::V4),
        effective_prefix!(network.map(|network| &network.v6), cluster.v6, IpNet::V6),
    ]
}

fn loopback_prefixes(plan: &Plan, node: &NodePlan) -> [Option<IpNet>; 2] {
    let network = node.written().network.get().and_then(|network| network.loopback.get());
    let cluster = &plan.cluster.loopback;
    [
        effective_prefix!(network.map(|network| &network.v4), cluster.v4, IpNet::V4),
        effective_prefix!(network.map(|network| &network.v6), cluster.v6, IpNet::V6),
    ]
}

/// The number of nodes that fit: without the first address and, in IPv4, the last.
fn usable_addresses(net: IpNet) -> u128 {
    let bits = u32::from(net.max_prefix_len() - net.prefix_len());
    let all = 1_u128.checked_shl(bits).unwrap_or(u128::MAX);
    all.saturating_sub(if matches!(net, IpNet::V4(_)) { 2 } else { 1 })
}

fn check_too_small(context: &RuleContext<'_>, findings: &mut Findings) {
    let plan = context.plan;
    let (mut nodes, mut loopbacks) = (NodesByProblem::new(plan), NodesByProblem::new(plan));
    for node in &plan.nodes {
        if node.addressing.value != Addressing::Dhcp {
            let nets = node_prefixes(plan, node).into_iter().flatten();
            nets.for_each(|net| nodes.add(net, &[node.nth], node.place));
        }
        if node.routing.is_some() {
            let nets = loopback_prefixes(plan, node).into_iter().flatten();
            nets.for_each(|net| loopbacks.add(net, &[node.nth], node.place));
        }
    }
    for (net, affected) in nodes {
        let others = other_addresses(plan, affected.first(), net);
        let need = affected.count() as u128 + others.len() as u128;
        if usable_addresses(net) < need {
            let nodes = format!("{} nodes", listing::thousands(affected.count()));
            let all: Vec<_> = std::iter::once(nodes.as_str()).chain(others).collect();
            report_small(
                findings,
                "network.node",
                net,
                affected.first(),
                &listing::join_names(&all, all.len()),
            );
        }
    }
    for (net, affected) in
        loopbacks.into_iter().filter(|(net, affected)| usable_addresses(*net) < affected.count() as u128)
    {
        let need = format!("{} nodes", listing::thousands(affected.count()));
        report_small(findings, "network.loopback", net, affected.first(), &need);
    }
    check_kubernetes_prefixes(context, findings);
}

/// Other users of addresses in the nodes' prefix.
fn other_addresses(plan: &Plan, node: &NodePlan, net: IpNet) -> Vec<&'static str> {
    let v4 = node.gateway.v4.as_ref().map(|v4| IpAddr::V4(v4.value));
    let gateway = v4.into_iter().chain(node.gateway.v6.as_ref().map(|v6| IpAddr::V6(v6.value)));
    let gateway = gateway.map(|address| ("a gateway", address));
    let vip = plan.cluster.vip.as_ref().map(|vip| ("the VIP", vip.value));
    gateway.chain(vip).filter(|(_, address)| net.contains(address)).map(|(noun, _)| noun).collect()
}

fn report_small(findings: &mut Findings, key: &str, net: IpNet, first: &NodePlan, need: &str) {
    let family = if matches!(net, IpNet::V4(_)) { "v4" } else { "v6" };
    let prefixes = if key == "network.node" { &first.address } else { &first.loopback };
    let base = prefixes.iter().find(|(own, _)| net.contains(&own.addr())).map(|(_, origin)| origin);
    let place = match base {
        Some(crate::plan::Origin::Written(place) | crate::plan::Origin::Derived(_, Some(place))) => place,
        _ => first.place,
    };
    let message = format!("{net} has {} usable addresses, too few for {need}", usable_addresses(net));
    findings.add(format!("{key}.{family}"), place, message);
}

/// The 10th address of the first service network is the cluster DNS's, and each node needs a subnet of the pod network.
fn check_kubernetes_prefixes(context: &RuleContext<'_>, findings: &mut Findings) {
    let (cluster, plan) = (context.cluster, &context.plan.cluster);
    let section = cluster.section();
    for net in &plan.services.value {
        if net.max_prefix_len() - net.prefix_len() < 4 {
            let message = format!("{net} is too small: cluster DNS uses its 10th address");
            findings.add("cluster.services", section.services.place().unwrap_or(cluster.place()), message);
        }
    }
    let count = context.plan.nodes.len();
    for net in plan.pods.value.iter().filter(|_| assigns_node_subnets(&plan.cni.value)) {
        let part = node_subnet_length(*net);
        let parts = part.checked_sub(net.prefix_len()).map_or(0, |bits| 1_u128 << bits.min(64));
        if parts < count as u128 {
            let message = format!(
                "{net} has {parts} subnets of /{part}, one for each node, but there are {} nodes",
                listing::thousands(count)
            );
            findings.add("cluster.pods", section.pods.place().unwrap_or(cluster.place()), message);
        }
    }
}

/// Whether pods have addresses from the subnet that Kubernetes assigns to their node.
fn assigns_node_subnets(cni: &CniPlan) -> bool {
    matches!(cni, CniPlan::Flannel(_) | CniPlan::Cilium)
}

/// The prefix length of a node's subnet: the defaults of kube-controller-manager, which Talos keeps.
fn node_subnet_length(net: IpNet) -> u8 {
    if matches!(net, IpNet::V4(_)) { 24 } else { 64 }
}

fn check_too_large(context: &RuleContext<'_>, findings: &mut Findings) {
    let (cluster, plan) = (context.cluster, &context.plan.cluster);
    let section = cluster.section();
    // Kubernetes 1.34 allocates service addresses one by one; before, a bitmap held 20 bits.
    let one_by_one = plan.kubernetes.as_ref().is_none_or(|version| version.value.minor() >= (1, 34));
    for net in &plan.services.value {
        let v6 = matches!(net, IpNet::V6(_));
        let shortest = match (one_by_one, v6) {
            (true, true) => 64,
            (true, false) => continue,
            (false, _) => net.max_prefix_len() - 20,
        };
        if net.prefix_len() < shortest {
            let release = if one_by_one { "Kubernetes" } else { "Kubernetes before 1.34" };
            let message = format!("{net}: {release} accepts at most a /{shortest} as the service network");
            findings.add("cluster.services", section.services.place().unwrap_or(cluster.place()), message);
        }
    }
    // kube-controller-manager numbers the subnets of an IPv6 network with 16 bits.
    for net in plan.pods.value.iter().filter(|net| matches!(net, IpNet::V6(_)) && net.prefix_len() < 48) {
        if assigns_node_subnets(&plan.cni.value) {
            let message = format!("{net}: Kubernetes accepts at most a /48 as an IPv6 pod network");
            findings.add("cluster.pods", section.pods.place().unwrap_or(cluster.place()), message);
        }
    }
}

fn check_families(context: &RuleContext<'_>, findings: &mut Findings) {
    let (cluster, plan) = (context.cluster, &context.plan.cluster);
    let count = |nets: &[IpNet]| {
        let v4 = nets.iter().filter(|net| matches!(net, IpNet::V4(_))).count();
        (v4, nets.len() - v4)
    };
    if count(&plan.pods.value) == count(&plan.services.value) {
        return;
    }
    let spelled = |networks: &Decided<Vec<IpNet>>| {
        let nets: Vec<_> = networks.value.iter().map(ToString::to_string).collect();
        let whose = if networks.place().is_some() { "" } else { ", Talos' default" };
        format!("{}{whose}", nets.join(" and "))
    };
    // A written setting is more likely complete than Talos' default.
    let (key, place) = match (plan.services.place(), plan.pods.place()) {
        (None, Some(place)) => ("cluster.pods", place),
        (services, _) => ("cluster.services", services.unwrap_or(cluster.place())),
    };
    let message = format!("pods have {}, services have {}", spelled(&plan.pods), spelled(&plan.services));
    findings.add(key, place, message);
}

fn check_anycast(context: &RuleContext<'_>, findings: &mut Findings) {
    for layer in layer::all_layers(context.cluster) {
        let api = layer.settings.network.get().and_then(|network| network.api.get());
        for at in api.into_iter().flat_map(|api| api.anycast.items()) {
            let net = at.value.0;
            if net.prefix_len() < net.max_prefix_len() {
                let message =
                    format!("{net} is not a single address; write it with /{}", net.max_prefix_len());
                findings.add(layer.path("network.api.anycast"), at.place, message);
            }
        }
    }
}

fn check_host_bits(context: &RuleContext<'_>, findings: &mut Findings) {
    for (layer, network) in layer::network_layers(context.cluster) {
        for AddressKeys { key, v4, v6, .. } in overlap::address_keys(network) {
            let (v4_key, v6_key) = (format!("network.{key}.v4"), format!("network.{key}.v6"));
            report_shared_address(context, findings, &layer, &v4_key, v4, |v4| {
                Some((v4.own()?.into(), v4.length.is_some()))
            });
            report_shared_address(context, findings, &layer, &v6_key, v6, |v6| {
                Some((v6.own()?.into(), v6.length.is_some()))
            });
        }
    }
}

fn report_shared_address<T: Copy + std::fmt::Display>(
    context: &RuleContext<'_>,
    findings: &mut Findings,
    layer: &Layer<'_>,
    name: &str,
    key: &Key<T>,
    own: impl Fn(T) -> Option<(IpAddr, bool)>,
) {
    let Some(at) = key.at() else { return };
    let Some((address, has_length)) = own(*at.value) else { return };
    let nodes = layer.nodes(context.cluster, &context.plan.nodes).count();
    if nodes > 1 {
        let bare = if has_length { "" } else { "; the prefix length, such as /24, is missing" };
        let count = listing::thousands(nodes);
        let message = format!("{} gives {count} nodes the same address {address}{bare}", at.value);
        findings.add(layer.path(name), at.place, message);
    }
}

fn check_gateway(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for node in &context.plan.nodes {
        let (address, gateway) = (&node.address, &node.gateway);
        let v4 = gateway
            .v4
            .as_ref()
            .filter(|v4| address.v4.as_ref().is_some_and(|own| !own.value.contains(&v4.value)));
        let v6 = gateway.v6.as_ref().filter(|v6| {
            let local = v6.value.is_unicast_link_local();
            !local && address.v6.as_ref().is_some_and(|own| !own.value.contains(&v6.value))
        });
        let v4 = v4.map(|v4| (IpAddr::V4(v4.value), v4.place()));
        let all = v4.into_iter().chain(v6.map(|v6| (IpAddr::V6(v6.value), v6.place())));
        for (gateway, place) in all.filter(|(gateway, _)| !is_on_link(node, *gateway)) {
            problems.add(gateway, &[node.nth], place.unwrap_or(node.place));
        }
    }
    for (gateway, affected) in problems {
        let family = if gateway.is_ipv4() { "v4" } else { "v6" };
        let message = format!("{gateway} is not in the network of {affected}");
        findings.add(format!("network.node.gateway.{family}"), affected.place(), message);
    }
}

/// Whether an address is on a network of one of the node's links.
fn is_on_link(node: &NodePlan, address: IpAddr) -> bool {
    node.written().links.values().any(|link| {
        let mut routes = link.routes.values().filter(|route| !route.via.is_set());
        link.addresses.values().any(|own| own.0.contains(&address))
            || routes.any(|route| route.to.get().is_some_and(|to| to.0.contains(&address)))
    })
}
