//! Endpoints of the APIs, and access to them.

use std::net::IpAddr;

use super::vip::is_overlay;
use crate::cluster::section::{Firewall, Role};
use crate::plan::{NodePlan, Origin};
use crate::rules::address::node_address;
use crate::rules::affected_nodes::AffectedNodes;
use crate::rules::{Findings, Rule, RuleContext, Severity};

pub(super) const RULES: &[Rule] = &[TALOS_VIP, UNANSWERED, PORT, OVERLAY, FIREWALL];

const TALOS_VIP: Rule = Rule {
    id: "talos-endpoint-vip",
    severity: Severity::Error,
    summary: "a Talos endpoint is the VIP",
    failure: "The VIP exists only once etcd runs, and etcd runs only once the cluster is bootstrapped. The bootstrap \
              request sent to the VIP never arrives.",
    fix: "list the control planes' own addresses in `cluster.talos_endpoints`, or leave it out",
    check: check_talos_vip,
};

const UNANSWERED: Rule = Rule {
    id: "endpoint-unanswered",
    severity: Severity::Error,
    summary: "no machine in the file has the endpoint's address",
    failure: "The kubeconfig contains the endpoint, so kubectl contacts an address where no API server of this cluster \
              listens.",
    fix: "use the VIP, an anycast address, a control plane or a name; silence the finding if a load balancer outside \
          the file answers",
    check: check_unanswered,
};

const PORT: Rule = Rule {
    id: "endpoint-port",
    severity: Severity::Warning,
    summary: "the endpoint is a control plane, but with a port where no API server listens",
    failure: "An endpoint without a port has port 443, and the API server listens on 6443. The control planes come up, \
              but neither workers nor kubectl reach the API.",
    fix: "write port 6443; silence the finding if the control planes forward the port",
    check: check_port,
};

const OVERLAY: Rule = Rule {
    id: "endpoint-overlay",
    severity: Severity::Warning,
    summary: "the endpoint is known only after the node has joined the overlay",
    failure: "A node that is reinstalled joins the overlay with a new key and gets another address. Every kubelet \
              keeps contacting the old one.",
    fix: "use a name whose address can change, or an address that the machines have without the overlay",
    check: check_overlay,
};

const FIREWALL: Rule = Rule {
    id: "firewall-public",
    severity: Severity::Warning,
    summary: "a node has a public address and the firewall is off",
    failure: "The ports of the kubelet and etcd are open to the internet, where scanners find them.",
    fix: "set `cluster.firewall: default-deny`, or filter the ports in front of the nodes and silence the finding",
    check: check_firewall,
};

/// The port of the API server.
const API_SERVER: u16 = 6443;

fn check_talos_vip(context: &RuleContext<'_>, findings: &mut Findings) {
    let Some(vip) = &context.plan.cluster.vip else { return };
    let endpoints = context.cluster.section().talos_endpoints.items().enumerate();
    for (nth, at) in endpoints.filter(|(_, at)| at.value.as_str().parse() == Ok(vip.value)) {
        let message = format!("{} is the VIP, which does not exist before bootstrap", vip.value);
        findings.add(format!("cluster.talos_endpoints[{nth}]"), at.place, message);
    }
}

fn check_unanswered(context: &RuleContext<'_>, findings: &mut Findings) {
    let plan = context.plan;
    let Some(endpoint) = &plan.cluster.endpoint else { return };
    let Origin::Written(place) = endpoint.origin else { return };
    let Some(address) = endpoint.value.address() else { return };
    let ours = plan.cluster.vip.iter().any(|vip| vip.value == address)
        || plan.cluster.anycast.iter().any(|net| net.value.addr() == address)
        || plan.control_planes().any(|node| has_address(node, address));
    let known = |node: &NodePlan| node.main_address().is_some() || stage_addresses(node).next().is_some();
    if ours || is_overlay(context, address) || !plan.control_planes().all(known) {
        return;
    }
    let worker = plan.nodes.iter().find(|node| node.role == Role::Worker && has_address(node, address));
    let message = match worker {
        Some(node) => format!("{address} is the worker {}, which runs no API server", node.name),
        None => format!("{address} is neither a control plane, the VIP nor an anycast address"),
    };
    findings.add("cluster.endpoint", place, message);
}

fn check_port(context: &RuleContext<'_>, findings: &mut Findings) {
    let plan = context.plan;
    let Some(endpoint) = &plan.cluster.endpoint else { return };
    let Origin::Written(place) = endpoint.origin else { return };
    let Some(address) = endpoint.value.address() else { return };
    let (port, kube_vip) = (endpoint.value.port(), context.cluster.section().kube_vip.is_set());
    if port == API_SERVER || kube_vip {
        return;
    }
    let node = || plan.control_planes().find(|node| has_address(node, address));
    let whose = if plan.cluster.vip.as_ref().is_some_and(|vip| vip.value == address) {
        "the VIP"
    } else if plan.cluster.anycast.iter().any(|net| net.value.addr() == address) {
        "an anycast address"
    } else if let Some(node) = node() {
        node.name.as_str()
    } else {
        return;
    };
    let message =
        format!("{address} is {whose}, where the API server listens on {API_SERVER}, not on {port}");
    findings.add("cluster.endpoint", place, message);
}

/// The addresses that a node has before its final stage.
fn stage_addresses(node: &NodePlan) -> impl Iterator<Item = IpAddr> {
    let stages = node.written().address.get();
    let stages = stages.map(|stages| [stages.dhcp.value(), stages.external.value(), stages.overlay.value()]);
    stages.into_iter().flatten().flatten()
}

fn has_address(node: &NodePlan, address: IpAddr) -> bool {
    node_address::unicast_addresses(node).any(|held| held.net.addr() == address)
        || stage_addresses(node).any(|stage| stage == address)
}

fn check_overlay(context: &RuleContext<'_>, findings: &mut Findings) {
    let Some(endpoint) = &context.plan.cluster.endpoint else { return };
    let Origin::Written(place) = endpoint.origin else { return };
    let message = match (endpoint.value.overlay_node(), endpoint.value.address()) {
        (Some(node), _) => format!("the overlay address of {node} is known only after it has joined"),
        (None, Some(address)) if is_overlay(context, address) => {
            format!("{address} is an overlay address, known only after the node has joined")
        }
        _ => return,
    };
    findings.add("cluster.endpoint", place, message);
}

fn check_firewall(context: &RuleContext<'_>, findings: &mut Findings) {
    if context.cluster.section().firewall.value() == Some(Firewall::DefaultDeny) {
        return;
    }
    let mut affected = AffectedNodes::default();
    let mut first = None;
    for node in &context.plan.nodes {
        let own =
            node_address::unicast_addresses(node).map(|held| (held.net.addr(), node.place_of(held.origin)));
        let external = node.written().address.get().and_then(|stages| stages.external.at());
        let external = external.map(|at| (*at.value, at.place));
        if let Some((address, place)) =
            own.chain(external).find(|(address, _)| node_address::is_public(*address))
        {
            first.get_or_insert(address);
            affected.add(node, place);
        }
    }
    if let Some(address) = first {
        let message = format!("{address} is reachable from the internet without a firewall ({affected})");
        findings.add("cluster.firewall", affected.place(), message);
    }
}
