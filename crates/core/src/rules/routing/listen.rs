//! Listen ranges: a router accepts nodes in them without listing each one.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::session::{self, FabricSession, matching_nodes, sessions};
use crate::cluster::section::{Addressing, Router};
use crate::plan::NodePlan;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::key::Spanned;

pub(super) const RULES: &[Rule] = &[WIDE, MISSES_NODES];

const WIDE: Rule = Rule {
    id: "listen-range-wide",
    severity: Severity::Warning,
    summary: "a router accepts sessions from more than the nodes, without a password",
    failure: "Any machine in the range can open a session and announce a default route.",
    fix: "set `listen` to the node prefix, or set a `password` for the sessions",
    check: check_wide,
};

const MISSES_NODES: Rule = Rule {
    id: "listen-range-misses-nodes",
    severity: Severity::Error,
    summary: "a router's listen range excludes nodes that peer with it",
    failure: "The router rejects the connections of these nodes, so they have no routes.",
    fix: "widen `listen` to include the node prefix, or list these nodes on the router",
    check: check_misses_nodes,
};

/// The network of a node's source address toward `peer`.
fn source_network(node: &NodePlan, peer: IpAddr) -> Option<IpNet> {
    let mut nets = node.address.iter().map(|(net, _)| net);
    nets.find(|net| net.addr().is_ipv4() == peer.is_ipv4()).map(|net| net.trunc())
}

fn check_wide(context: &RuleContext<'_>, findings: &mut Findings) {
    let routers: Vec<_> = context.cluster.routers().collect();
    let mut networks: Vec<BTreeSet<IpNet>> = vec![BTreeSet::new(); routers.len()];
    for session in sessions(context)
        .filter(|session| session.neighbor.password.is_none() && listen_range(session).is_some())
    {
        if let (Some(nth), Some(peer)) = (session.neighbor.router_nth, session.address()) {
            let sources =
                session.nodes.iter().filter_map(|&node| source_network(&context.plan.nodes[node], peer));
            networks[nth].extend(sources);
        }
    }
    for (router, networks) in routers.iter().zip(networks) {
        if let Some((listen, needed)) = find_wide_range(router, &networks)
            && let Some(name) = router.value.name.get()
        {
            let place = router.value.listen.place().unwrap_or(router.place);
            let path = format!("fabric.routers.{name}.listen");
            findings.add(
                path,
                place,
                format!("{listen} is wider than the nodes' {needed}, and the sessions have no password"),
            );
        }
    }
}

/// The range and the single network of nodes inside it, if they differ. Several networks need one range around them.
fn find_wide_range(router: &Spanned<Router>, networks: &BTreeSet<IpNet>) -> Option<(IpNet, IpNet)> {
    let listen = router.value.listen.get()?.0;
    let needed = networks.first().filter(|_| networks.len() == 1 || listen.prefix_len() == 0)?;
    (!router.value.password.is_set() && listen != *needed && listen.contains(needed))
        .then_some((listen, *needed))
}

fn listen_range(session: &FabricSession<'_>) -> Option<IpNet> {
    session.router?.value.listen.get().map(|listen| listen.0)
}

fn check_misses_nodes(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for session in sessions(context) {
        let Some(listen) = listen_range(&session) else { continue };
        let Some(peer) = session.address().filter(|peer| peer.is_ipv4() == listen.addr().is_ipv4()) else {
            continue;
        };
        let outside = matching_nodes(context, session.nodes, |node| !is_within(node, listen, peer));
        problems.add((session.remote_end(), listen), &outside, session.neighbor.place);
    }
    for ((far, listen), affected) in problems {
        let path = session::key_path(context, affected.first(), affected.place());
        findings.add(
            path,
            affected.place(),
            format!("{far} accepts only {listen}, not the addresses of {affected}"),
        );
    }
}

/// Whether the node has an address in the range. An address from DHCP is assumed to be.
fn is_within(node: &NodePlan, listen: IpNet, peer: IpAddr) -> bool {
    let mut own = node.address.iter().filter(|(net, _)| net.addr().is_ipv4() == peer.is_ipv4());
    let mut links = node.written().links.values().flat_map(|link| link.addresses.values());
    node.addressing.value == Addressing::Dhcp
        || own.any(|(net, _)| listen.contains(&net.addr()))
        || links.any(|address| listen.contains(&address.0.addr()))
}
