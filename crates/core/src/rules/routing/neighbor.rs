//! Neighbours: missing, duplicate, unreachable and invalid ones.

use std::net::IpAddr;

use super::session::{self, FabricSession, bgp_groups, matching_nodes, sessions};
use crate::model::layer;
use crate::plan::{NeighborAddress, NodePlan, Prefixes};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::LinkName;

pub(super) const RULES: &[Rule] =
    &[LINK_UNKNOWN, WITHOUT_ADDRESS, IS_SELF, TWICE, TIMERS, RESTART_TIME, MAX_PREFIXES, UNREACHABLE, NONE];

const LINK_UNKNOWN: Rule = Rule {
    id: "neighbor-link-unknown",
    severity: Severity::Error,
    summary: "a neighbour is configured on a link that the node does not have",
    failure: "The session with this neighbour never comes up. The node lacks a part of its paths, which becomes \
              visible only when the other router fails.",
    fix: "name a port or link of the node, or add the port's MAC address",
    check: check_link_unknown,
};

const WITHOUT_ADDRESS: Rule = Rule {
    id: "neighbor-without-address",
    severity: Severity::Error,
    summary: "a neighbour is a router without an address, and has no link",
    failure: "There is no address to open a session to, so the node boots without this neighbour.",
    fix: "give the neighbour a `link` or an `address`, or the router `addresses`",
    check: check_without_address,
};

const IS_SELF: Rule = Rule {
    id: "neighbor-is-self",
    severity: Severity::Error,
    summary: "a node has its own address as a neighbour",
    failure: "FRR rejects the neighbour and every line about it, and applies the rest of the file. The node is left \
              partly configured.",
    fix: "correct the address, or give this node neighbours of its own",
    check: check_is_self,
};

const TWICE: Rule = Rule {
    id: "neighbor-twice",
    severity: Severity::Error,
    summary: "a node has the same neighbour twice",
    failure: "The daemon takes both entries for one neighbour, and the last one wins. If their passwords differ, the \
              session does not come up after the next restart.",
    fix: "keep one of the entries",
    check: check_twice,
};

const TIMERS: Rule = Rule {
    id: "timers-invalid",
    severity: Severity::Error,
    summary: "a daemon rejects or rewrites the timers",
    failure: "FRR silently rewrites a keepalive that is longer than the hold time allows: `9 3` becomes 1 and 3, and \
              an interruption of three seconds ends every session.",
    fix: "write `[keepalive, hold]` with a hold time of at least 3 seconds and three keepalives, such as [3, 9]",
    check: check_timers,
};

const RESTART_TIME: Rule = Rule {
    id: "restart-time-range",
    severity: Severity::Error,
    summary: "the restart time is longer than BGP allows",
    failure: "The restart time has twelve bits in BGP. FRR rejects a longer one, and neighbours drop the node's routes \
              at the next planned restart.",
    fix: "write at most 4095 seconds",
    check: check_restart_time,
};

const MAX_PREFIXES: Rule = Rule {
    id: "max-prefixes-zero",
    severity: Severity::Error,
    summary: "`max_prefixes: 0` closes the session at the first route",
    failure: "0 is the lowest limit and does not mean unlimited. Daemons reject the line or close the session at the \
              first route, and the node learns no routes.",
    fix: "leave `max_prefixes` out for no limit, or write the number of routes to accept",
    check: check_max_prefixes,
};

const UNREACHABLE: Rule = Rule {
    id: "neighbor-unreachable",
    severity: Severity::Warning,
    summary: "a node has no route to its neighbour",
    failure: "The node has neither an address in the neighbour's network nor a default route, so the session stays in \
              Active.",
    fix: "correct the address, or give the node an address or a gateway of that family",
    check: check_unreachable,
};

const NONE: Rule = Rule {
    id: "routing-without-neighbors",
    severity: Severity::Warning,
    summary: "a node has routing but no neighbours",
    failure: "The routing daemon and the speaker run, but the node announces its service addresses to no router.",
    fix: "add `routing.neighbors` or `fabric.routers`, or remove `routing`",
    check: check_no_neighbors,
};

fn check_link_unknown(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for session in sessions(context) {
        let NeighborAddress::Link(link) = &session.neighbor.peer else { continue };
        // All nodes of a BGP group have the same ports.
        if !session.node.ports.iter().any(|port| port.name == *link) {
            let without = matching_nodes(context, session.nodes, |node| !has_link(node, link));
            problems.add(link.as_str(), &without, session.neighbor.place);
        }
    }
    for (link, affected) in problems {
        let path = session::key_path(context, affected.first(), affected.place());
        let verb = if affected.count() == 1 { "has" } else { "have" };
        findings.add(path, affected.place(), format!("{affected} {verb} no link {link}"));
    }
}

fn has_link(node: &NodePlan, name: &LinkName) -> bool {
    node.written().links.values().any(|link| link.name.get() == Some(name))
}

fn check_without_address(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (nodes, node, routing) in bgp_groups(context) {
        let Some(written) = node.written().routing.get().and_then(|routing| routing.neighbors.get()) else {
            continue;
        };
        // The plan has no session with such a neighbour.
        if written.0.len() == routing.neighbors.len() {
            continue;
        }
        for neighbor in &written.0 {
            if !routing.neighbors.iter().any(|planned| planned.place == neighbor.place) {
                problems.add(neighbor.value.router.get(), nodes, neighbor.place);
            }
        }
    }
    for (router, affected) in problems {
        let router = router.map_or("the neighbour", |router| router.as_str());
        let path = session::key_path(context, affected.first(), affected.place());
        findings.add(path, affected.place(), format!("{router} has no address, and no `link` is set"));
    }
}

fn check_is_self(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for session in sessions(context) {
        if let Some(address) = session.address() {
            let own = matching_nodes(context, session.nodes, |node| is_own(node, address));
            problems.add(address, &own, session.neighbor.place);
        }
    }
    for (address, affected) in problems {
        let path = session::key_path(context, affected.first(), affected.place());
        findings.add(path, affected.place(), format!("{address} is an address of {affected} itself"));
    }
}

fn is_own(node: &NodePlan, address: IpAddr) -> bool {
    let has = |prefixes: &Prefixes| prefixes.iter().any(|(net, _)| net.addr() == address);
    has(&node.address)
        || has(&node.loopback)
        || node.dummies.iter().any(|dummy| has(&dummy.address))
        || node
            .written()
            .links
            .values()
            .any(|link| link.addresses.values().any(|own| own.0.addr() == address))
}

fn check_twice(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (nodes, _, routing) in bgp_groups(context) {
        for (position, neighbor) in routing.neighbors.iter().enumerate() {
            if routing.neighbors[..position].iter().any(|other| other.peer == neighbor.peer) {
                problems.add(&neighbor.peer, nodes, neighbor.place);
            }
        }
    }
    for (peer, affected) in problems {
        let what = match peer {
            NeighborAddress::Address(address) => format!("{address} is already a neighbour"),
            NeighborAddress::Link(link) => format!("{link} already has a neighbour"),
        };
        findings.add(session::key_path(context, affected.first(), affected.place()), affected.place(), what);
    }
}

fn check_timers(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for session in sessions(context) {
        let (keepalive, hold) = session.neighbor.timers.value;
        if matches!(hold, 1 | 2) || (hold > 0 && keepalive > hold / 3) {
            problems.add(((keepalive, hold), session.remote_end()), session.nodes, session.neighbor.place);
        }
    }
    for (((keepalive, hold), _), affected) in problems {
        let message = if hold < 3 {
            format!("a hold time of {hold} is invalid: BGP requires 0 or at least 3 seconds")
        } else {
            format!("a keepalive of {keepalive} with a hold time of {hold} becomes {}", hold / 3)
        };
        let path = session::key_path(context, affected.first(), affected.place());
        findings.add(format!("{path}.timers"), affected.place(), message);
    }
}

/// RFC 4724, section 3.
fn check_restart_time(context: &RuleContext<'_>, findings: &mut Findings) {
    for layer in layer::all_layers(context.cluster) {
        let graceful =
            layer.settings.routing.get().and_then(|routing| routing.graceful_restart.get()?.settings());
        if let Some(at) = graceful.and_then(|graceful| graceful.time.at()).filter(|at| *at.value > 4095) {
            let message = format!("{} s exceeds BGP's limit of 4095 s", at.value);
            findings.add(layer.path("routing.graceful_restart.time"), at.place, message);
        }
    }
}

fn check_max_prefixes(context: &RuleContext<'_>, findings: &mut Findings) {
    for layer in layer::all_layers(context.cluster) {
        let policy = layer.settings.routing.get().and_then(|routing| routing.policy.get()?.r#in.get());
        if let Some(at) = policy.and_then(|policy| policy.max_prefixes.at()).filter(|at| *at.value == 0) {
            findings.add(
                layer.path("routing.policy.in.max_prefixes"),
                at.place,
                "a limit of 0 allows no route at all",
            );
        }
    }
}

fn check_unreachable(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for session in sessions(context) {
        if let Some(address) = session.address().filter(|address| !is_on_link(&session, *address)) {
            let without_route = matching_nodes(context, session.nodes, |node| !node.has_route_to(address));
            problems.add(address, &without_route, session.neighbor.place);
        }
    }
    for (address, affected) in problems {
        let verb = if affected.count() == 1 { "has" } else { "have" };
        let path = session::key_path(context, affected.first(), affected.place());
        findings.add(
            path,
            affected.place(),
            format!("{affected} {verb} neither an address in the network of {address} nor a gateway"),
        );
    }
}

/// Whether the address is link-local and its link is set.
fn is_on_link(session: &FabricSession<'_>, address: IpAddr) -> bool {
    let mut written =
        session.node.written().routing.get().into_iter().flat_map(|routing| routing.neighbors.items());
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
        && written.any(|neighbor| neighbor.place == session.neighbor.place && neighbor.value.link.is_set())
}

fn check_no_neighbors(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (nodes, node, _) in bgp_groups(context).filter(|(_, _, routing)| routing.neighbors.is_empty()) {
        // Another rule reports neighbours without an address.
        let written = node.written().routing.get().and_then(|routing| routing.neighbors.get());
        if written.is_none_or(|written| written.0.is_empty()) {
            let place = node.written().routing.place().unwrap_or(node.place);
            problems.add(place, nodes, place);
        }
    }
    for (place, affected) in problems {
        let path = layer::setting_path(context.cluster, affected.first().nth, "routing", place, |settings| {
            settings.routing.place()
        });
        findings.add(path, place, format!("no neighbours for {affected}: nothing is announced"));
    }
}
