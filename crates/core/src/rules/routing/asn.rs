//! AS numbers of nodes, routers and the speaker.

use super::session::{self, RemoteEnd, matching_nodes, routed_nodes, sessions};
use super::speaker;
use crate::cluster::section::{Workload, WorkloadAsn};
use crate::model::layer;
use crate::plan::derive::Derivation;
use crate::plan::{Decided, NodePlan, Origin};
use crate::rules::affected_nodes::{AffectedNodes, NodesByProblem};
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::Software;
use ichor_values::Asn;
use ichor_values::Location;
use ichor_values::key::Key;

pub(super) const RULES: &[Rule] = &[RESERVED, PUBLIC, BEHIND_REFLECTOR, OF_ROUTER];

const RESERVED: Rule = Rule {
    id: "asn-reserved",
    severity: Severity::Error,
    summary: "a reserved AS number is used",
    failure: "With a base of 65530 the fifth node gets AS 65535. Its router rejects a neighbour with this number, and \
              the node has no routes.",
    fix: "use a private number: 64512 to 65534 or 4200000000 to 4294967294",
    check: check_reserved,
};

const PUBLIC: Rule = Rule {
    id: "asn-public",
    severity: Severity::Warning,
    summary: "a public AS number reaches the fabric",
    failure: "Border routers remove private AS numbers only. A public number stays in the path, so the provider sees \
              routes that claim to come from another network and drops them.",
    fix: "use 4200000000 to 4294967294",
    check: check_public,
};

const BEHIND_REFLECTOR: Rule = Rule {
    id: "asn-behind-reflector",
    severity: Severity::Error,
    summary: "nodes with the same AS number learn each other's routes over eBGP",
    failure: "The router passes each node's loopback to the other nodes. They find their own AS number in the path, \
              take it for a loop and drop the route: all sessions are established, and no node reaches another.",
    fix: "leave `asn` out for the nodes, or write a base: each node then has its own number",
    check: check_behind_reflector,
};

const OF_ROUTER: Rule = Rule {
    id: "asn-of-router",
    severity: Severity::Error,
    summary: "a node has the AS number of its router",
    failure: "The session is established as iBGP. The router does not pass routes learned from one node to the others, \
              and drops the nodes' routes when they return from other routers.",
    fix: "choose another base for the nodes, or leave `asn` out; set `software: other` for a route reflector",
    check: check_of_router,
};

fn check_reserved(context: &RuleContext<'_>, findings: &mut Findings) {
    for router in context.cluster.routers() {
        if let (Some(name), Some(asn)) = (router.value.name.get(), router.value.asn.at())
            && asn.value.is_reserved()
        {
            findings.add(
                format!("fabric.routers.{name}.asn"),
                asn.place,
                format!("{} is reserved", asn.value),
            );
        }
    }
    let mut neighbors = NodesByProblem::new(context.plan);
    for session in sessions(context).filter(|session| session.neighbor.router.is_none()) {
        if let Some(asn) = session.neighbor.asn().filter(|asn| asn.is_reserved()) {
            neighbors.add((asn, session.remote_end()), session.nodes, session.neighbor.place);
        }
    }
    for ((asn, _), affected) in neighbors {
        let path = session::key_path(context, affected.first(), affected.place());
        findings.add(format!("{path}.asn"), affected.place(), format!("{asn} is reserved"));
    }
    for (asn, affected) in wrong_node_asns(context, Asn::is_reserved) {
        findings.add(
            node_path(context, affected.first(), affected.place()),
            affected.place(),
            format!("{asn} of {affected} is reserved"),
        );
    }
    let mut workloads = NodesByProblem::new(context.plan);
    for speaking in speaker::speakers(context) {
        let (ours, theirs) = &speaking.workload.asn;
        for (asn, is_ours) in [(ours, true), (theirs, false)] {
            if asn.value.is_reserved() {
                let place = asn.place().unwrap_or(speaking.workload.place);
                workloads.add((place, asn.value, is_ours), speaking.nodes, place);
            }
        }
    }
    for ((place, asn, is_ours), affected) in workloads {
        let (key, part): (_, AsnKey) =
            if is_ours { ("ours", |asn| &asn.ours) } else { ("theirs", |asn| &asn.theirs) };
        findings.add(
            workload_path(context, affected.first(), key, part, place),
            place,
            format!("{asn} is reserved"),
        );
    }
}

fn is_public(asn: Asn) -> bool {
    !asn.is_private() && !asn.is_reserved()
}

fn check_public(context: &RuleContext<'_>, findings: &mut Findings) {
    for (asn, affected) in wrong_node_asns(context, is_public) {
        let message = if affected.count() == 1 {
            format!("{asn} of {affected} is a public AS number and reaches the fabric")
        } else {
            format!("the AS numbers of {affected} are public, for example {asn}, and reach the fabric")
        };
        findings.add(node_path(context, affected.first(), affected.place()), affected.place(), message);
    }
    // The node's AS number toward the speaker stays on the node: it is not prepended to the speaker's routes.
    let mut workloads = NodesByProblem::new(context.plan);
    for speaking in speaker::speakers(context) {
        let theirs = &speaking.workload.asn.1;
        if is_public(theirs.value) {
            let place = theirs.place().unwrap_or(speaking.workload.place);
            workloads.add((place, theirs.value), speaking.nodes, place);
        }
    }
    for ((place, asn), affected) in workloads {
        let path = workload_path(context, affected.first(), "theirs", |asn| &asn.theirs, place);
        findings.add(path, place, format!("{asn} is a public AS number and reaches the fabric"));
    }
}

/// The nodes' `wrong` AS numbers, grouped by the base they are derived from, else by number.
fn wrong_node_asns<'c>(context: &RuleContext<'c>, wrong: fn(Asn) -> bool) -> Vec<(Asn, AffectedNodes<'c>)> {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, _) in routed_nodes(context) {
        if let Some(asn) = node.asn.as_ref().filter(|asn| wrong(asn.value)) {
            let base = match asn.origin {
                Origin::Derived(Derivation::AsnBase, base) => base,
                _ => None,
            };
            let number = if base.is_some() { None } else { Some(asn.value) };
            problems.add((base, number), &[node.nth], place_of(node, asn));
        }
    }
    let number = |affected: &AffectedNodes<'_>| affected.first().asn.as_ref().map(|asn| asn.value);
    problems.into_iter().filter_map(|(_, affected)| Some((number(&affected)?, affected))).collect()
}

fn place_of(node: &NodePlan, asn: &Decided<Asn>) -> Location {
    asn.place().unwrap_or(node.place)
}

fn node_path(context: &RuleContext<'_>, node: &NodePlan, place: Location) -> String {
    if node.asn.as_ref().and_then(Decided::place).is_none() {
        return format!("nodes.{}", node.name);
    }
    layer::setting_path(context.cluster, node.nth, "routing.asn", place, |settings| {
        settings.routing.get()?.asn.place()
    })
}

type AsnKey = fn(&WorkloadAsn) -> &Key<Asn>;

/// The path of an AS number of the speaker's session, or of the speaker if the number is not written.
fn workload_path(
    context: &RuleContext<'_>,
    node: &NodePlan,
    key: &str,
    part: AsnKey,
    place: Location,
) -> String {
    let written = |workload: &Workload| part(workload.asn.get()?).place();
    let found = layer::find_setting(context.cluster, node.nth, |settings| {
        written(settings.routing.get()?.workload.get()?).filter(|found| *found == place)
    });
    match found {
        Some((layer, _)) => layer.path(&format!("routing.workload.asn.{key}")),
        None => speaker::key_path(context, node),
    }
}

fn check_behind_reflector(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut numbers: Vec<(Asn, usize)> =
        routed_nodes(context).filter_map(|(node, _)| Some((node.asn.as_ref()?.value, node.nth))).collect();
    numbers.sort_unstable();
    for same in numbers.chunk_by(|(a, _), (b, _)| a == b).filter(|same| same.len() > 1) {
        if let Some((far, affected)) = shared_router(context, same) {
            let asn = same[0].0;
            let is_written =
                |node: &NodePlan| matches!(&node.asn, Some(asn) if matches!(asn.origin, Origin::Written(_)));
            let (node, place) = affected.first_matching(is_written);
            findings.add(
                node_path(context, node, place),
                place,
                format!(
                    "{affected} share AS {asn} and the neighbour {far}: each drops the other's routes as a loop"
                ),
            );
        }
    }
}

/// A router that ichor configures is not a route reflector; other routers may be.
fn check_of_router(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for session in sessions(context) {
        let filled = session.router.filter(|at| at.value.software.value() != Some(Software::Other));
        let Some(asn) = filled.and_then(|router| router.value.asn.value()) else { continue };
        let same = |node: &NodePlan| node.asn.as_ref().is_some_and(|own| own.value == asn);
        for nth in matching_nodes(context, session.nodes, same) {
            let node = &context.plan.nodes[nth];
            let place = node.asn.as_ref().map_or(node.place, |asn| place_of(node, asn));
            problems.add((asn, session.remote_end()), &[nth], place);
        }
    }
    for ((asn, far), affected) in problems {
        let message =
            format!("AS {asn} of {affected} is also the AS number of {far}, so the session is iBGP");
        findings.add(node_path(context, affected.first(), affected.place()), affected.place(), message);
    }
}

/// The eBGP neighbour that most of the nodes share, and these nodes.
fn shared_router<'c>(
    context: &RuleContext<'c>,
    same: &[(Asn, usize)],
) -> Option<(RemoteEnd<'c>, AffectedNodes<'c>)> {
    let mut problems = NodesByProblem::new(context.plan);
    for &(asn, nth) in same {
        let node = &context.plan.nodes[nth];
        let place = node.asn.as_ref().map_or(node.place, |asn| place_of(node, asn));
        for neighbor in node.routing.iter().flat_map(|routing| &routing.neighbors) {
            let far = RemoteEnd::from_neighbor(neighbor);
            if neighbor.asn() != Some(asn) && !matches!(far, RemoteEnd::Link(_)) {
                problems.add(far, &[node.nth], place);
            }
        }
    }
    let shared = problems.into_iter().filter(|(_, affected)| affected.count() > 1);
    shared.reduce(|most, other| if other.1.count() > most.1.count() { other } else { most })
}
