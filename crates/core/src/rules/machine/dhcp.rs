//! Unwanted and missing DHCP.

use serde_json::Value;

use crate::cluster::section::Addressing;
use crate::plan::{NodeClass, NodePlan};
use crate::rules::affected_nodes::{AffectedNodes, NodesByProblem};
use crate::rules::patch::{ConfigPatch, nodes_of, used_patches};
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::kind;
use ichor_talos::{document, release};

pub(super) const RULES: &[Rule] = &[STATIC_WITH_DHCP, DHCP_SWITCHED_OFF];

const STATIC_WITH_DHCP: Rule = Rule {
    id: "static-with-dhcp",
    severity: Severity::Warning,
    summary: "a link has static addresses and DHCP",
    failure: "The node has two addresses and two default routes. The kubelet registers the leased address, \
              certificates name the static one, and the node is lost when the lease changes.",
    fix: "remove `dhcp: true`, or the addresses",
    check: check_static_with_dhcp,
};

const DHCP_SWITCHED_OFF: Rule = Rule {
    id: "dhcp-switched-off",
    severity: Severity::Warning,
    summary: "a link document in a patch disables DHCP where the node needs it",
    failure: "Talos requests a lease on every port only if the configuration has no link document. After a patch adds \
              one, such as a DummyLinkConfig, the port has no address after the next restart.",
    fix: "add `{apiVersion: v1alpha1, kind: DHCPv4Config, name: eth0}` to the patch, with the link that needs it",
    check: check_dhcp_switched_off,
};

fn check_static_with_dhcp(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class().filter(|(node, _)| node.written().links.is_set()) {
        for link in node.written().links.values() {
            let (Some(name), Some(dhcp)) = (link.name.get(), link.dhcp.at()) else { continue };
            let own = link.addresses.items().next().is_some();
            let nodes = *name == node.link.value && node.addressing.value != Addressing::Dhcp;
            if *dhcp.value && (own || nodes) {
                let whose = if own { "static addresses" } else { "the node's static address" };
                let message = format!("{name} has {whose} and `dhcp: true`");
                problems.add_message(format!("links.{name}.dhcp"), Some(dhcp.place), message, &kind.nodes);
            }
        }
    }
    problems.report(context, findings);
    for (patch, kinds) in used_patches(context) {
        for (key, link) in dhcp_links(patch) {
            let fixed = has_addresses(patch, link);
            let concerned = |kind: &&&NodeClass| fixed || is_static(&context.plan.nodes[kind.first()], link);
            let nodes = nodes_of(kinds.iter().filter(concerned));
            if !nodes.is_empty() {
                let names = AffectedNodes::from_numbers(context.plan, &nodes).names();
                let message = format!("{key}: DHCP on {link}, which has a static address ({names})");
                findings.add(&patch.key, patch.place, patch.message(message));
            }
        }
    }
}

/// Whether `link` has the node's static address.
fn is_static(node: &NodePlan, link: &str) -> bool {
    node.link.value.as_str() == link && node.addressing.value != Addressing::Dhcp
}

/// The links on which a patch enables DHCP, each with its key.
fn dhcp_links(patch: &ConfigPatch) -> Vec<(String, &str)> {
    let mut links = Vec::new();
    for document in patch.documents() {
        for (nth, interface) in document::items(document, "/machine/network/interfaces") {
            let name = document::value_at(interface, "/interface").and_then(Value::as_str);
            if let Some(name) =
                name.filter(|_| document::value_at(interface, "/dhcp") == Some(&Value::Bool(true)))
            {
                links.push((format!("machine.network.interfaces[{nth}].dhcp"), name));
            }
        }
        if document::kind(document) == Some("DHCPv4Config") {
            links.extend(document::name(document).map(|name| ("DHCPv4Config".to_owned(), name)));
        }
    }
    links
}

/// Whether a patch also gives addresses to `link`.
fn has_addresses(patch: &ConfigPatch, link: &str) -> bool {
    let filled = |value: &Value| document::items(value, "/addresses").next().is_some();
    patch.documents().iter().any(|document| {
        let legacy = document::items(document, "/machine/network/interfaces").any(|(_, interface)| {
            document::value_at(interface, "/interface").is_some_and(|name| name == link) && filled(interface)
        });
        let is_link = document::kind(document).is_some_and(kind::is_of_links);
        legacy || (is_link && document::name(document) == Some(link) && filled(document))
    })
}

fn check_dhcp_switched_off(context: &RuleContext<'_>, findings: &mut Findings) {
    for (patch, kinds) in used_patches(context) {
        let is_link = |kind: &&str| kind::is_of_links(kind);
        let Some(kind) = patch.documents().iter().filter_map(document::kind).find(is_link) else { continue };
        let cut_off = |kind: &&&NodeClass| loses_dhcp(context, &context.plan.nodes[kind.first()]);
        let nodes = nodes_of(kinds.iter().filter(cut_off));
        if let Some(&first) = nodes.first() {
            let link = &context.plan.nodes[first].link.value;
            let names = AffectedNodes::from_numbers(context.plan, &nodes).names();
            let message =
                format!("{kind} disables DHCP on {link}, which provides the node's address ({names})");
            findings.add(&patch.key, patch.place, patch.message(message));
        }
    }
}

/// Whether a node has its address from DHCP and no patch enables DHCP on that link.
fn loses_dhcp(context: &RuleContext<'_>, node: &NodePlan) -> bool {
    let link = Some(node.link.value.as_str());
    let mut documents =
        context.attachments.patches.in_settings(node.written()).flat_map(|patch| patch.documents());
    node.addressing.value == Addressing::Dhcp
        && release::at_least(&node.talos.value, 12)
        && !documents.any(|document| {
            document::kind(document) == Some("DHCPv4Config") && document::name(document) == link
        })
}
