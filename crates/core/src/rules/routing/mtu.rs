//! Links with an MTU too small for IPv6.

use super::speaker;
use crate::cluster::section::{Link, NodeSettings};
use crate::model::layer;
use crate::plan::{NeighborAddress, NodePlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::{LinkName, Mtu};

pub(super) const RULES: &[Rule] = &[BELOW_1280];

const BELOW_1280: Rule = Rule {
    id: "mtu-below-1280",
    severity: Severity::Error,
    summary: "a link that carries IPv6 has an MTU below 1280",
    failure: "The kernel removes IPv6 from a link with an MTU below 1280, including its link-local address, and the \
              unnumbered session ends.",
    fix: "use at least 1280, or lower the MTU of the routes instead",
    check: check_below_1280,
};

fn check_below_1280(context: &RuleContext<'_>, findings: &mut Findings) {
    check_network(context, findings);
    check_links(context, findings);
    for speaking in speaker::speakers(context) {
        let mtu = speaking.written.link.get().and_then(|link| link.mtu.at());
        let v6 = speaking.workload.link.as_ref().is_some_and(|(ours, _)| ours.value.is_ipv6());
        if let Some(mtu) = mtu.filter(|mtu| v6 && *mtu.value < Mtu::LEAST_FOR_IPV6) {
            let at =
                |settings: &NodeSettings| settings.routing.get()?.workload.get()?.link.get()?.mtu.place();
            let path = layer::setting_path(
                context.cluster,
                speaking.nodes[0],
                "routing.workload.link.mtu",
                mtu.place,
                at,
            );
            findings.add(path, mtu.place, message(*mtu.value));
        }
    }
}

fn message(mtu: Mtu) -> String {
    format!("an MTU of {mtu} removes IPv6 from the link, which needs 1280")
}

fn check_network(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for node in &context.plan.nodes {
        let mtu = node.written().network.get().and_then(|network| network.mtu.at());
        if let Some(mtu) = mtu.filter(|mtu| *mtu.value < Mtu::LEAST_FOR_IPV6)
            && (node.address.v6.is_some() || is_unnumbered(node))
        {
            problems.add((mtu.place, *mtu.value), &[node.nth], mtu.place);
        }
    }
    for ((place, mtu), affected) in problems {
        let at = |settings: &NodeSettings| settings.network.get()?.mtu.place();
        findings.add(
            layer::setting_path(context.cluster, affected.first().nth, "network.mtu", place, at),
            place,
            message(mtu),
        );
    }
}

fn check_links(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for node in &context.plan.nodes {
        for link in node.written().links.values() {
            if let Some(mtu) = link.mtu.at().filter(|mtu| *mtu.value < Mtu::LEAST_FOR_IPV6)
                && let Some(name) = link.name.get()
                && carries_v6(node, link, name)
            {
                problems.add((mtu.place, *mtu.value, name), &[node.nth], mtu.place);
            }
        }
    }
    for ((place, mtu, name), affected) in problems {
        let key = format!("links.{name}.mtu");
        let at = |settings: &NodeSettings| {
            let mut links = settings.links.values();
            links.find(|link| link.name.get() == Some(name) && link.mtu.place() == Some(place))?.mtu.place()
        };
        findings.add(
            layer::setting_path(context.cluster, affected.first().nth, &key, place, at),
            place,
            message(mtu),
        );
    }
}

fn is_unnumbered(node: &NodePlan) -> bool {
    let mut neighbors = node.routing.iter().flat_map(|routing| &routing.neighbors);
    neighbors.any(|neighbor| matches!(neighbor.peer, NeighborAddress::Link(_)))
}

fn carries_v6(node: &NodePlan, link: &Link, name: &LinkName) -> bool {
    let mut neighbors = node.routing.iter().flat_map(|routing| &routing.neighbors);
    (node.address.v6.is_some() && node.link.value == *name)
        || link.addresses.values().any(|address| address.0.addr().is_ipv6())
        || neighbors.any(|neighbor| matches!(&neighbor.peer, NeighborAddress::Link(on) if on == name))
}
