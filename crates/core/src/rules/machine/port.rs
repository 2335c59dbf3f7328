//! Ports that cannot be identified, and nodes without a default route.

use serde_json::Value;

use super::link::lower_links;
use crate::cluster::section::{Addressing, Platform};
use crate::plan::{ConfigStage, NeighborAddress, NodePlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::document;
use ichor_talos::link::made;
use ichor_values::LinkName;

pub(super) const RULES: &[Rule] = &[PORT_UNKNOWN, DEFAULT_ROUTE_MISSING];

const PORT_UNKNOWN: Rule = Rule {
    id: "port-unknown",
    severity: Severity::Warning,
    summary: "a metal machine's port has neither a MAC address nor the kernel's name",
    failure: "Talos' metal images name ports by their slot, such as enp3s0. A configuration for eth0 waits for a link \
              that does not exist, and the machine is unreachable.",
    fix: "write the ports' `macs`, or the kernel's own name in `network.node.link` or `ports`: `talosctl get links` \
          shows it",
    check: check_port_unknown,
};

const DEFAULT_ROUTE_MISSING: Rule = Rule {
    id: "default-route-missing",
    severity: Severity::Warning,
    summary: "a node has a static address and no gateway",
    failure: "The nodes reach each other, but cannot pull an image or query a time server. Talos waits for the time \
              before it starts anything else.",
    fix: "set `network.node.gateway`, or silence the finding if the nodes need no destination outside their network",
    check: check_default_route_missing,
};

fn check_port_unknown(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class().filter(|(node, _)| has_slot_names(node)) {
        for name in required_links(node) {
            if is_unidentified(context, node, name) {
                let message =
                    format!("no port of a metal machine is named {name}, and no MAC address identifies it");
                problems.add_message("macs", node.written().ports.place(), message, &kind.nodes);
            }
        }
    }
    problems.report(context, findings);
}

/// Whether the kernel names ports by their slot. The ports of a virtual machine are identified by the MAC addresses it is
/// created with.
fn has_slot_names(node: &NodePlan) -> bool {
    node.platform.value == Platform::Metal && node.vm.is_none() && !node.has_plain_port_names()
}

/// The ports below the links of the node's address, the VIP and its neighbours.
fn required_links(node: &NodePlan) -> Vec<&LinkName> {
    let is_static = node.addressing.value != Addressing::Dhcp && node.address.iter().next().is_some();
    let mut names: Vec<_> =
        (is_static || loses_lease(node)).then_some(&node.link.value).into_iter().collect();
    names.extend(node.vip.as_ref().map(|vip| &vip.link));
    let neighbors = node.routing.iter().flat_map(|routing| &routing.neighbors);
    names.extend(neighbors.filter_map(|neighbor| match &neighbor.peer {
        NeighborAddress::Link(link) => Some(link),
        NeighborAddress::Address(_) => None,
    }));
    // A VLAN may be on a bond.
    for _ in 0..3 {
        names = names.into_iter().flat_map(|name| links_below(node, name)).collect();
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether the port with the node's DHCP address has no link document while other links have: Talos then runs no DHCP
/// client on it.
fn loses_lease(node: &NodePlan) -> bool {
    let links = node.links(ConfigStage::Final);
    !node.old_links && !links.is_empty() && links.iter().all(|link| link.name != node.link.value)
}

/// The links below a link, or the link itself if it is a port.
fn links_below<'n>(node: &'n NodePlan, name: &'n LinkName) -> Vec<&'n LinkName> {
    let link = node.written().links.values().find(|link| link.name.get() == Some(name));
    let below: Vec<_> = link.into_iter().flat_map(lower_links).map(|(_, below, _)| below).collect();
    if below.is_empty() { vec![name] } else { below }
}

/// Whether a port has no MAC address, and a name that is neither the kernel's nor defined by a patch.
fn is_unidentified(context: &RuleContext<'_>, node: &NodePlan, name: &LinkName) -> bool {
    let port = node.ports.iter().find(|port| port.name == *name);
    let mut patches =
        context.attachments.patches.in_settings(node.written()).flat_map(|patch| patch.documents());
    port.is_some_and(|port| port.mac.is_none())
        && !name.as_str().starts_with("en")
        && !patches.any(|document| made(document).contains(&name.as_str()))
}

fn check_default_route_missing(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for node in context.plan.nodes.iter().filter(|node| lacks_default_route(node)) {
        let mut patches =
            context.attachments.patches.in_settings(node.written()).flat_map(|patch| patch.documents());
        if !patches.any(has_routes) {
            let place = node.written().network.get().and_then(|network| network.node.place());
            let message = "no gateway is set, so the node cannot reach other networks";
            problems.add_message("network.node.gateway", place, message, &[node.nth]);
        }
    }
    problems.report(context, findings);
}

/// Whether a node has a static address and no default route in the cluster file.
fn lacks_default_route(node: &NodePlan) -> bool {
    let machine = matches!(node.platform.value, Platform::Metal | Platform::Nocloud);
    let has_default_route = node.written().links.values().any(|link| {
        let mut routes = link.routes.values();
        link.dhcp.value() == Some(true)
            || routes.any(|route| route.to.get().is_none_or(|to| to.0.prefix_len() == 0))
    });
    machine
        && node.routing.is_none()
        && node.addressing.value != Addressing::Dhcp
        && node.address.iter().next().is_some()
        && node.gateway.v4.is_none()
        && node.gateway.v6.is_none()
        && !has_default_route
}

/// Whether a document of a patch has routes.
fn has_routes(document: &Value) -> bool {
    let any = |value: &Value| document::items(value, "/routes").next().is_some();
    any(document)
        || document::items(document, "/machine/network/interfaces").any(|(_, interface)| any(interface))
}
