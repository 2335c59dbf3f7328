//! Overlays: the addresses of kubelet and etcd, and the lifetime of keys.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::cluster::section::{Addressing, Network, Role};
use crate::plan::{NodeClass, NodePlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::Location;
use ichor_values::key::{Key, List};
use ichor_values::{Duration, Prefix};

pub(super) const RULES: &[Rule] = &[
    KUBELET_SUBNETS_OVERLAY,
    ETCD_SUBNETS_OVERLAY,
    KUBELET_SUBNETS_MISS_NODE,
    ETCD_SUBNETS_MISS_NODE,
    OVERLAY_KEY_LIFE,
    OVERLAY_TAGS,
];

const KUBELET_SUBNETS_OVERLAY: Rule = Rule {
    id: "kubelet-subnets-overlay",
    severity: Severity::Error,
    summary: "the kubelet would register an address that nodes of another site cannot reach",
    failure: "Nodes of different sites are Ready, but cannot fetch each other's logs or reach each other's pods, \
              because only their overlay addresses are reachable from every site.",
    fix: "add 100.64.0.0/10 to `network.kubelet_subnets`, or leave it out",
    check: |context, findings| check_overlay_subnets(context, &KUBELET, findings),
};

const ETCD_SUBNETS_OVERLAY: Rule = Rule {
    id: "etcd-subnets-overlay",
    severity: Severity::Error,
    summary: "etcd would advertise an address that control planes of another site cannot reach",
    failure: "A control plane at another site joins etcd with its local address, which the first member cannot reach. \
              etcd loses its quorum, and the cluster stops.",
    fix: "add 100.64.0.0/10 to `network.etcd_subnets`, or leave it out",
    check: |context, findings| check_overlay_subnets(context, &ETCD, findings),
};

const KUBELET_SUBNETS_MISS_NODE: Rule = Rule {
    id: "kubelet-subnets-miss-node",
    severity: Severity::Error,
    summary: "no address of a node is in the subnets of its kubelet",
    failure: "Talos finds no address for the kubelet and waits indefinitely. The node never appears in Kubernetes.",
    fix: "correct `network.kubelet_subnets`, or leave it out: it is derived from the node prefixes",
    check: |context, findings| check_node_subnets(context, &KUBELET, findings),
};

const ETCD_SUBNETS_MISS_NODE: Rule = Rule {
    id: "etcd-subnets-miss-node",
    severity: Severity::Error,
    summary: "no address of a control plane is in the subnets of its etcd",
    failure: "Talos finds no address for etcd to advertise and does not start it. Bootstrap times out, and the log \
              says only that Talos waits.",
    fix: "correct `network.etcd_subnets`, or leave it out: it is derived from the node prefixes",
    check: |context, findings| check_node_subnets(context, &ETCD, findings),
};

const OVERLAY_KEY_LIFE: Rule = Rule {
    id: "overlay-key-life",
    severity: Severity::Error,
    summary: "the key that lets a machine join the overlay expires before the machine may have booted",
    failure: "ichor creates the key during the build. A machine that boots after its expiry presents an expired key to \
              the control server and cannot be reached.",
    fix: "set `overlay.tailscale.key_life` to at least `boot.within`",
    check: check_overlay_key_life,
};

const OVERLAY_TAGS: Rule = Rule {
    id: "overlay-tags",
    severity: Severity::Note,
    summary: "tags of machines at a Headscale server come from their keys",
    failure: "Headscale 0.28 and later reject a machine that requests tags with a pre-auth key, whatever the key's tags \
              are. ichor therefore writes no tags for a machine with `overlay.tailscale.server`. With a key without \
              tags the machine joins untagged, and the server's policy may not let it reach the other nodes.",
    fix: "create the key with these tags (`headscale preauthkeys create --tags`), and silence the finding",
    check: check_overlay_tags,
};

/// A setting that selects the address of kubelet or etcd.
struct SubnetKey {
    key: &'static str,
    pick: fn(&Network) -> &Key<List<Prefix>>,
    concerns: fn(&NodePlan) -> bool,
}

const KUBELET: SubnetKey = SubnetKey {
    key: "network.kubelet_subnets",
    pick: |network| &network.kubelet_subnets,
    concerns: |_| true,
};

const ETCD: SubnetKey = SubnetKey {
    key: "network.etcd_subnets",
    pick: |network| &network.etcd_subnets,
    concerns: |node| node.role == Role::Controlplane,
};

/// The prefixes of Tailscale: addresses of RFC 6598, and its own IPv6 prefix.
pub(in crate::rules) const OVERLAY: [&str; 2] = ["100.64.0.0/10", "fd7a:115c:a1e0::/48"];

/// Whether any of `subnets` includes overlay addresses.
pub(super) fn admits_overlay(subnets: &[IpNet]) -> bool {
    let overlay = OVERLAY.map(|text| text.parse::<IpNet>().expect("a prefix"));
    subnets.iter().any(|subnet| overlay.iter().any(|range| subnet.contains(range) || range.contains(subnet)))
}

/// The written subnets of a node, and their location.
fn written_subnets(node: &NodePlan, subnets: &SubnetKey) -> Option<(Vec<IpNet>, Location)> {
    let key = (subnets.pick)(node.written().network.get()?);
    Some((key.values().map(|prefix| prefix.0).collect(), key.at()?.place))
}

/// Whether nodes need the overlay to reach each other: the endpoint is on it, or the nodes are at several sites.
fn needs_overlay(context: &RuleContext<'_>) -> bool {
    let endpoint = context.cluster.section().endpoint.get();
    let overlay = endpoint.is_some_and(|endpoint| {
        endpoint.overlay_node().is_some()
            || endpoint.address().is_some_and(|address| admits_overlay(&[IpNet::from(address)]))
    });
    let mut sites = context.plan.nodes.iter().filter_map(|node| node.site.as_ref());
    let first = sites.next();
    overlay || sites.any(|site| Some(site) != first)
}

fn check_overlay_subnets(context: &RuleContext<'_>, subnets: &SubnetKey, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    let concerned: Vec<_> = context
        .plan
        .by_class()
        .filter(|(node, _)| node.joins_overlay() && (subnets.concerns)(node))
        .filter_map(|(node, kind)| Some((kind, written_subnets(node, subnets)?)))
        .collect();
    if concerned.is_empty() || !needs_overlay(context) {
        return;
    }
    for (kind, (prefixes, place)) in concerned {
        let outside: Vec<_> = kind
            .nodes
            .iter()
            .copied()
            .filter(|&nth| match overlay_address(&context.plan.nodes[nth]) {
                Some(address) => !prefixes.iter().any(|prefix| prefix.contains(&address)),
                None => !admits_overlay(&prefixes),
            })
            .collect();
        if !outside.is_empty() {
            problems.add_message(
                subnets.key,
                Some(place),
                "the overlay's addresses are not in these subnets",
                &outside,
            );
        }
    }
    problems.report(context, findings);
}

fn overlay_address(node: &NodePlan) -> Option<IpAddr> {
    node.written().address.get()?.overlay.value()
}

fn check_node_subnets(context: &RuleContext<'_>, subnets: &SubnetKey, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class().filter(|(node, _)| (subnets.concerns)(node)) {
        let Some((prefixes, place)) = written_subnets(node, subnets) else { continue };
        if node.joins_overlay() && admits_overlay(&prefixes) {
            continue;
        }
        let outside = nodes_outside(context, kind, &prefixes);
        if !outside.is_empty() {
            problems.add_message(
                subnets.key,
                Some(place),
                "no address of these nodes is in these subnets",
                &outside,
            );
        }
    }
    problems.report(context, findings);
}

/// The nodes of a class with addresses, none of which is in `prefixes`.
fn nodes_outside(context: &RuleContext<'_>, kind: &NodeClass, prefixes: &[IpNet]) -> Vec<usize> {
    let inside = |address: IpAddr| prefixes.iter().any(|prefix| prefix.contains(&address));
    let is_outside = |&nth: &usize| {
        let node = &context.plan.nodes[nth];
        let unknown = node.addressing.value == Addressing::Dhcp
            && node.written().address.get().is_none_or(|address| !address.dhcp.is_set());
        let addresses = addresses(node);
        !unknown && !addresses.is_empty() && !addresses.into_iter().any(inside)
    };
    kind.nodes.iter().copied().filter(is_outside).collect()
}

/// Every address of a node.
fn addresses(node: &NodePlan) -> Vec<IpAddr> {
    let own = node.address.iter().chain(node.loopback.iter()).map(|(net, _)| net.addr());
    let dummies = node.dummies.iter().filter(|dummy| !dummy.anycast);
    let dummies = dummies.flat_map(|dummy| dummy.address.iter()).map(|(net, _)| net.addr());
    let links = node.written().links.values().flat_map(|link| link.addresses.values());
    let stage = node.written().address.get();
    own.chain(dummies)
        .chain(links.map(|address| address.0.addr()))
        .chain(stage.and_then(|stage| stage.dhcp.value()))
        .chain(stage.and_then(|stage| stage.overlay.value()))
        .collect()
}

fn check_overlay_key_life(context: &RuleContext<'_>, findings: &mut Findings) {
    const HOUR: Duration = Duration(3_600);
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let tailscale = node.written().overlay.get().and_then(|overlay| overlay.tailscale.get());
        let Some(life) = tailscale.and_then(|tailscale| tailscale.key_life.at()) else { continue };
        let within = node.written().boot.get().and_then(|boot| boot.within.value()).unwrap_or(HOUR);
        if *life.value < within {
            let message =
                format!("keys are valid for {}, but a machine may take {within} to boot", life.value);
            problems.add_message("overlay.tailscale.key_life", Some(life.place), message, &kind.nodes);
        }
    }
    problems.report(context, findings);
}

fn check_overlay_tags(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let tailscale = node.written().overlay.get().and_then(|overlay| overlay.tailscale.get());
        let Some(tailscale) = tailscale.filter(|tailscale| tailscale.server.is_set()) else { continue };
        let tags: Vec<_> = tailscale.tags.values().map(|tag| tag.as_str()).collect();
        if let Some(at) = tailscale.tags.at().filter(|_| !tags.is_empty()) {
            let message = format!("the pre-auth key must have the tags: {}", tags.join(", "));
            problems.add_message("overlay.tailscale.tags", Some(at.place), message, &kind.nodes);
        }
    }
    problems.report(context, findings);
}
