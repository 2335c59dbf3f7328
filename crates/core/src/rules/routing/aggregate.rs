//! Aggregates: prefixes announced instead of their parts.

use ipnet::IpNet;

use super::session::{bgp_groups, matching_nodes};
use crate::cluster::section::NodeSettings;
use crate::model::layer;
use crate::plan::{ClusterPlan, NodePlan, RoutingPlan};
use crate::rules::affected_nodes::{AffectedNodes, NodesByProblem};
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::Advertise;

pub(super) const RULES: &[Rule] = &[WITH_SPECIFICS, FOREIGN, OF_ONE];

const WITH_SPECIFICS: Rule = Rule {
    id: "aggregate-with-specifics",
    severity: Severity::Warning,
    summary: "an aggregate covers addresses that the nodes announce themselves",
    failure: "If a node fails, its traffic follows the aggregate to another node and loops there instead of being \
              rejected.",
    fix: "remove the aggregate, or remove the addresses it covers from `advertise`; aggregate on the leaf routers",
    check: check_with_specifics,
};

const FOREIGN: Rule = Rule {
    id: "aggregate-foreign",
    severity: Severity::Warning,
    summary: "an aggregate contains no prefix that the node announces",
    failure: "A daemon announces an aggregate only while it has a part of it, so this one never appears.",
    fix: "correct the prefix, or remove it",
    check: check_foreign,
};

const OF_ONE: Rule = Rule {
    id: "aggregate-of-one",
    severity: Severity::Error,
    summary: "an aggregate is a single address",
    failure: "The daemon rejects the aggregate because it cannot contain a longer prefix, and does not announce the \
              address.",
    fix: "remove it and announce the address with `advertise`, or write a shorter prefix",
    check: check_of_one,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AggregateParts {
    /// Addresses of the node.
    Own,
    /// Addresses of services.
    Services,
    Nothing,
    /// The aggregate is a single address.
    One,
}

fn is_single(net: IpNet) -> bool {
    net.prefix_len() == net.max_prefix_len()
}

fn find_parts(
    plan: &ClusterPlan,
    node: &NodePlan,
    routing: &RoutingPlan,
    aggregate: IpNet,
) -> AggregateParts {
    if is_single(aggregate) {
        return AggregateParts::One;
    }
    if announced_prefixes(node, routing).any(|net| aggregate.contains(&net)) {
        return AggregateParts::Own;
    }
    let overlaps = |net: &IpNet| net.contains(&aggregate) || aggregate.contains(net);
    let pools = || plan.pools.iter().flat_map(|(_, prefixes)| prefixes).any(|pool| overlaps(&pool.value));
    match &routing.workload {
        Some(workload)
            if workload.allow.value.is_empty() || workload.allow.value.iter().any(overlaps) || pools() =>
        {
            AggregateParts::Services
        }
        _ => AggregateParts::Nothing,
    }
}

fn announced_prefixes<'n>(node: &'n NodePlan, routing: &'n RoutingPlan) -> impl Iterator<Item = IpNet> {
    let kinds = &routing.advertise.value;
    let loopback = kinds.contains(&Advertise::Loopback).then(|| node.loopback.iter());
    let dummies = node
        .dummies
        .iter()
        .filter(|dummy| kinds.contains(if dummy.anycast { &Advertise::Anycast } else { &Advertise::Dummy }));
    loopback.into_iter().flatten().chain(dummies.flat_map(|dummy| dummy.address.iter())).map(|(net, _)| net)
}

fn check_with_specifics(context: &RuleContext<'_>, findings: &mut Findings) {
    report(context, findings, AggregateParts::Own, |aggregate, affected| {
        format!("{aggregate} covers addresses that {affected} also announce")
    });
}

fn check_foreign(context: &RuleContext<'_>, findings: &mut Findings) {
    report(context, findings, AggregateParts::Nothing, |aggregate, affected| {
        format!("{aggregate} contains no prefix that {affected} announce, so it is never announced")
    });
}

fn check_of_one(context: &RuleContext<'_>, findings: &mut Findings) {
    report(context, findings, AggregateParts::One, |aggregate, _| {
        format!("{aggregate} is a single address, which the daemon cannot aggregate")
    });
}

fn report(
    context: &RuleContext<'_>,
    findings: &mut Findings,
    wrong: AggregateParts,
    message: fn(IpNet, &AffectedNodes<'_>) -> String,
) {
    let mut problems = NodesByProblem::new(context.plan);
    for (nodes, node, routing) in bgp_groups(context) {
        for aggregate in
            node.written().routing.get().into_iter().flat_map(|routing| routing.aggregates.items())
        {
            let wrong = matching_nodes(context, nodes, |node| {
                find_parts(&context.plan.cluster, node, routing, aggregate.value.0) == wrong
            });
            problems.add((aggregate.place, aggregate.value.0), &wrong, aggregate.place);
        }
    }
    for ((place, aggregate), affected) in problems {
        let at = |settings: &NodeSettings| {
            settings.routing.get()?.aggregates.items().map(|item| item.place).find(|found| *found == place)
        };
        let path =
            layer::setting_path(context.cluster, affected.first().nth, "routing.aggregates", place, at);
        findings.add(path, place, message(aggregate, &affected));
    }
}
