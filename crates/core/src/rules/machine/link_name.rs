//! Names of ports: nocloud machines have eth0, never ens18.

use super::link::lower_links;
use crate::cluster::section::{BootFrom, Platform, Role};
use crate::plan::port_name::is_predictable;
use crate::plan::{NodeClass, NodePlan};
use crate::rules::affected_nodes::{AffectedNodes, NodesByProblem};
use crate::rules::patch::{ConfigPatch, nodes_of, used_patches};
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::link::{expected, made};
use ichor_values::LinkName;
use ichor_values::Location;

pub(super) const PREDICTABLE_NAMES: Rule = Rule {
    id: "nocloud-predictable-names",
    severity: Severity::Error,
    summary: "a nocloud machine does not have a port of this name",
    failure: "Talos' nocloud images start the kernel with net.ifnames=0: the port that Debian calls `ens18` is eth0. \
              Talos configures a link that does not exist, and the node is unreachable.",
    fix: "use eth0, eth1 …, or your own names in `ports`; or set `net.ifnames=1` in `kernel.args`",
    check: check_predictable_names,
};

pub(super) const META_NAMES: Rule = Rule {
    id: "meta-port-names",
    severity: Severity::Warning,
    summary: "META names a port that has another name on this machine",
    failure: "META key 10 identifies links by name. On metal Talos names ports by their slot, such as enp6s18, so an \
              address for eth0 has no effect and the machine uses DHCP.",
    fix: "set `net.ifnames=0` in `kernel.args`, or give the ports their own names, such as enp6s18, in `ports`",
    check: check_meta_names,
};

fn check_meta_names(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        if node.boot.from.value != BootFrom::Meta || node.platform.value != Platform::Metal {
            continue;
        }
        for port in node.ports.iter().filter(|port| !node.is_kernels_port_name(port.name.as_str())) {
            let message = format!("META refers to {}, but the kernel gives the port another name", port.name);
            problems.add_message("ports".to_owned(), node.written().ports.place(), message, &kind.nodes);
        }
    }
    problems.report(context, findings);
}

/// Whether ports are named eth0, eth1 …
fn has_plain_names(node: &NodePlan) -> bool {
    node.platform.value == Platform::Nocloud && node.has_plain_port_names()
}

fn check_predictable_names(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class().filter(|(node, _)| has_plain_names(node)) {
        for (key, name, place) in predictable_names(node) {
            problems.add_message(key, Some(place), format!("{name} is called ethN on nocloud"), &kind.nodes);
        }
    }
    problems.report(context, findings);
    check_cluster_links(context, findings);
    for (patch, kinds) in used_patches(context) {
        let plain = |kind: &&&NodeClass| has_plain_names(&context.plan.nodes[kind.first()]);
        let nodes = nodes_of(kinds.iter().filter(plain));
        if !nodes.is_empty() {
            check_patch_links(context, patch, &nodes, findings);
        }
    }
}

/// The predictable port names in the node's settings, each with its key.
fn predictable_names(node: &NodePlan) -> Vec<(String, &LinkName, Location)> {
    let mut names: Vec<(String, &LinkName, Location)> = Vec::new();
    let settings = &node.written();
    let ports = settings.ports.items().enumerate();
    names.extend(ports.map(|(nth, at)| (format!("ports[{nth}]"), &at.value, at.place)));
    for link in settings.links.values() {
        let Some(name) = link.name.at() else { continue };
        if !link.bond.is_set() && !link.vlan.is_set() && !link.bridge.is_set() {
            names.push((format!("links.{}", name.value), name.value, name.place));
        }
        let below = lower_links(link).into_iter();
        names.extend(below.map(|(key, below, place)| (format!("links.{}.{key}", name.value), below, place)));
    }
    if let Some(network) = settings.network.get() {
        let own = network.node.get().and_then(|node| node.link.at());
        names.extend(own.map(|at| ("network.node.link".to_owned(), at.value, at.place)));
        let api = network.api.get().and_then(|api| api.link.at());
        names.extend(api.map(|at| ("network.api.link".to_owned(), at.value, at.place)));
    }
    if let Some(routing) = settings.routing.get() {
        for (nth, neighbor) in routing.neighbors.items().enumerate() {
            let link = neighbor.value.link.at();
            names.extend(link.map(|at| (format!("routing.neighbors[{nth}].link"), at.value, at.place)));
        }
    }
    names.retain(|(_, name, _)| is_predictable(name.as_str()));
    names
}

/// Checks the port names in the cluster's settings, which apply to every node or control plane.
fn check_cluster_links(context: &RuleContext<'_>, findings: &mut Findings) {
    let section = context.cluster.section();
    let flannel = section.flannel.get().and_then(|flannel| flannel.interface.at());
    let kube_vip = section.kube_vip.get().and_then(|vip| vip.interface.at());
    let any = |fits: fn(&NodePlan) -> bool| {
        context.plan.by_class().any(|(node, _)| has_plain_names(node) && fits(node))
    };
    for (key, interface, concerned) in [
        ("cluster.flannel.interface", flannel, any(|_| true)),
        ("cluster.kube_vip.interface", kube_vip, any(|node| node.role == Role::Controlplane)),
    ] {
        if let Some(at) = interface.filter(|at| concerned && is_predictable(at.value.as_str())) {
            findings.add(key, at.place, format!("{} is called ethN on nocloud", at.value));
        }
    }
}

fn check_patch_links(
    context: &RuleContext<'_>,
    patch: &ConfigPatch,
    nodes: &[usize],
    findings: &mut Findings,
) {
    let aliases: Vec<_> = patch
        .documents()
        .iter()
        .filter(|document| ichor_talos::document::kind(document).is_some())
        .flat_map(made)
        .collect();
    for link in patch.documents().iter().flat_map(expected) {
        if is_predictable(link.name) && !aliases.contains(&link.name) {
            let names = AffectedNodes::from_numbers(context.plan, nodes).names();
            let message = format!("{}: {} is called ethN on nocloud ({names})", link.key, link.name);
            findings.add(&patch.key, patch.place, patch.message(message));
        }
    }
}
