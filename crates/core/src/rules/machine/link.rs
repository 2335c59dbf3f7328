//! The links of nodes: their names, members and masters.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::section::Link;
use crate::plan::{NodePlan, port_name};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::link::made;
use ichor_values::LinkName;
use ichor_values::Location;
use ichor_values::key::Spanned;

pub(super) const RULES: &[Rule] = &[
    super::link_name::PREDICTABLE_NAMES,
    super::link_name::META_NAMES,
    LINK_MEMBER_MISSING,
    LINK_MEMBER_TWICE,
    VLAN_TWICE,
    PORT_COUNT,
];

const LINK_MEMBER_MISSING: Rule = Rule {
    id: "link-member-missing",
    severity: Severity::Error,
    summary: "a bond, VLAN, bridge or the node's address refers to a link that the node does not have",
    failure: "Talos waits for the link indefinitely and never creates the VLAN or bond. Only its log shows the reason.",
    fix: "name one of the node's ports or links",
    check: check_member_missing,
};

const LINK_MEMBER_TWICE: Rule = Rule {
    id: "link-member-twice",
    severity: Severity::Error,
    summary: "a port has two masters, or a master and its own addresses",
    failure: "A port can be in one bond or bridge only, and a member has no addresses. Talos rejects the \
              configuration, or the address is on a member port and the node is unreachable.",
    fix: "list the port in one place; put its addresses on the bond or bridge, and name that in `network.node.link`",
    check: check_member_twice,
};

const VLAN_TWICE: Rule = Rule {
    id: "vlan-twice",
    severity: Severity::Error,
    summary: "two links are the same VLAN of the same parent",
    failure: "The kernel creates one of them and rejects the other with \"file exists\". Which one comes first decides \
              which addresses the node has after a restart.",
    fix: "merge them into one link with both sets of addresses, or correct the VLAN ID",
    check: check_vlan_twice,
};

const PORT_COUNT: Rule = Rule {
    id: "port-count",
    severity: Severity::Error,
    summary: "`ports` and `macs` have different lengths",
    failure: "ichor assigns names to MAC addresses in order. With an extra name, the last port is never found and its \
              BGP session never comes up. With a missing name, settings refer to a link that has another name.",
    fix: "write one name in `ports` for each address in `macs`",
    check: check_port_count,
};

/// The members of a bond or bridge, each with its key.
pub(in crate::rules) fn members(link: &Link) -> Vec<(&'static str, &Spanned<LinkName>)> {
    let bond = link.bond.get().map(|bond| &bond.links);
    let bridge = link.bridge.get().map(|bridge| &bridge.links);
    let bonded = bond.into_iter().flat_map(|links| links.items()).map(|at| ("bond.links", at));
    let bridged = bridge.into_iter().flat_map(|links| links.items()).map(|at| ("bridge.links", at));
    bonded.chain(bridged).collect()
}

/// The parent of a VLAN.
pub(in crate::rules) fn vlan_parent(link: &Link) -> Option<Spanned<&LinkName>> {
    link.vlan.get()?.link.at()
}

/// All links below a link: key, name and location.
pub(super) fn lower_links(link: &Link) -> Vec<(&'static str, &LinkName, Location)> {
    let members = members(link).into_iter().map(|(key, at)| (key, &at.value, at.place));
    members.chain(vlan_parent(link).map(|at| ("vlan.link", at.value, at.place))).collect()
}

fn name_of(link: &Link) -> &str {
    link.name.get().map_or("", |name| name.as_str())
}

/// Every link that the file gives the node.
pub(in crate::rules) fn known_links<'n>(context: &RuleContext<'n>, node: &'n NodePlan) -> BTreeSet<&'n str> {
    let patches = context.attachments.patches.in_settings(node.written());
    let workload = node.routing.as_ref().and_then(|routing| routing.workload.as_ref());
    let ends = workload.into_iter().flat_map(|workload| [&workload.names.0, &workload.names.1]);
    node.ports
        .iter()
        .map(|port| port.name.as_str())
        .chain(node.written().links.values().map(name_of))
        .chain(node.dummies.iter().map(|dummy| dummy.name.as_str()))
        .chain(ends.map(|name| name.value.as_str()))
        .chain(patches.flat_map(|patch| patch.documents()).flat_map(made))
        .collect()
}

/// Whether the kernel may give this name to a port. A real machine may have more ports than the file lists.
fn is_kernel_name(name: &str) -> bool {
    port_name::is_plain(name) || port_name::is_predictable(name)
}

fn check_member_missing(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let own = node.written().network.get().and_then(|network| network.node.get()?.link.at());
        if own.is_none() && !node.written().links.is_set() {
            continue;
        }
        let known = known_links(context, node);
        let missing = |name: &LinkName| {
            !known.contains(name.as_str()) && (node.vm.is_some() || !is_kernel_name(name.as_str()))
        };
        if let Some(own) = own.filter(|own| missing(own.value)) {
            let message = format!("the node's address is on {}, which does not exist", own.value);
            problems.add_message("network.node.link", Some(own.place), message, &kind.nodes);
        }
        for link in node.written().links.values() {
            for (key, name, place) in lower_links(link).into_iter().filter(|(_, name, _)| missing(name)) {
                let message = format!("{} refers to {name}, which does not exist", name_of(link));
                problems.add_message(
                    format!("links.{}.{key}", name_of(link)),
                    Some(place),
                    message,
                    &kind.nodes,
                );
            }
        }
    }
    problems.report(context, findings);
}

fn check_member_twice(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class().filter(|(node, _)| node.written().links.is_set()) {
        let mut masters: BTreeMap<&str, &str> = BTreeMap::new();
        for link in node.written().links.values() {
            for (key, member) in members(link) {
                let (name, master) = (member.value.as_str(), name_of(link));
                let path = format!("links.{master}.{key}");
                let mut say =
                    |message: String| problems.add_message(&path, Some(member.place), message, &kind.nodes);
                if let Some(other) = masters.insert(name, master) {
                    say(format!("{name} is already a member of {other}"));
                }
                if *node.link.value.as_str() == *name {
                    say(format!("{name} is a member of {master} and has the node's address"));
                } else if let Some(setting) = forbidden_setting(node, name) {
                    say(format!("{name} is a member of {master} and has its own {setting}"));
                }
            }
        }
    }
    problems.report(context, findings);
}

/// A setting of a link that a member must not have.
fn forbidden_setting(node: &NodePlan, name: &str) -> Option<&'static str> {
    let link = node.written().links.values().find(|link| name_of(link) == name)?;
    if link.addresses.items().next().is_some() {
        Some("addresses")
    } else {
        link.dhcp.value().unwrap_or(false).then_some("DHCP")
    }
}

fn check_vlan_twice(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class().filter(|(node, _)| node.written().links.is_set()) {
        let mut first: BTreeMap<(&str, u16), &str> = BTreeMap::new();
        for link in node.written().links.values() {
            let Some(vlan) = link.vlan.get() else { continue };
            let (Some(id), Some(below)) = (vlan.id.at(), vlan.link.get()) else { continue };
            if let Some(other) = first.insert((below.as_str(), id.value.0), name_of(link)) {
                let message = format!("{} and {other} are both VLAN {} of {below}", name_of(link), id.value);
                problems.add_message(
                    format!("links.{}.vlan", name_of(link)),
                    Some(id.place),
                    message,
                    &kind.nodes,
                );
            }
        }
    }
    problems.report(context, findings);
}

fn check_port_count(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let (ports, macs) = (node.written().ports.items().count(), node.written().macs.items().count());
        if macs == 0 || ports == 0 || ports == macs {
            continue;
        }
        if ports > macs {
            let message = format!("`ports` has {ports} entries, `macs` has {macs}");
            problems.add_message("ports", node.written().ports.place(), message, &kind.nodes);
        } else if let Some((name, place)) = unknown_neighbor_link(context, node) {
            let message =
                format!("`ports` has {ports} entries, `macs` has {macs}, and no port is named {name}");
            problems.add_message("routing.neighbors", Some(place), message, &kind.nodes);
        }
    }
    problems.report(context, findings);
}

/// A neighbour's link that the node does not have.
fn unknown_neighbor_link<'n>(
    context: &RuleContext<'n>,
    node: &'n NodePlan,
) -> Option<(&'n LinkName, Location)> {
    let neighbors = &node.written().routing.get()?.neighbors;
    let known = known_links(context, node);
    neighbors.items().find_map(|neighbor| {
        let link = neighbor.value.link.at()?;
        (!known.contains(link.value.as_str())).then_some((link.value, link.place))
    })
}
