//! Aggregates: prefixes announced in place of their parts.

use ipnet::IpNet;

use super::session::{alike, those};
use crate::cluster::section::Rung;
use crate::model::rung;
use crate::plan::{ClusterPlan, NodePlan, RoutingPlan};
use crate::rules::roll::{Roll, Rolls};
use crate::rules::{Context, Found, Rule, Severity};
use ichor_bgp::setting::Advertise;

pub(super) const RULES: &[Rule] = &[WITH_SPECIFICS, FOREIGN, OF_ONE];

const WITH_SPECIFICS: Rule = Rule {
    id: "aggregate-with-specifics",
    severity: Severity::Warning,
    summary: "an aggregate covers addresses that the nodes announce themselves",
    failure: "If a node fails, its traffic follows the aggregate to another node and loops there instead of being \
              rejected.",
    fix: "remove the aggregate, or remove the addresses it covers from `advertise`; aggregate on the leaf routers",
    look: with_specifics,
};

const FOREIGN: Rule = Rule {
    id: "aggregate-foreign",
    severity: Severity::Warning,
    summary: "an aggregate contains no prefix that the node announces",
    failure: "A daemon announces an aggregate only while it has a part of it, so this one never appears.",
    fix: "correct the prefix, or remove it",
    look: foreign,
};

const OF_ONE: Rule = Rule {
    id: "aggregate-of-one",
    severity: Severity::Error,
    summary: "an aggregate is a single address",
    failure: "The daemon rejects the aggregate because it cannot contain a longer prefix, and does not announce the \
              address.",
    fix: "remove it and announce the address with `advertise`, or write a shorter prefix",
    look: of_one,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    /// Addresses of the node.
    Own,
    /// Addresses of services.
    Services,
    Nothing,
    /// It is one address, and not a part of itself.
    One,
}

fn is_single(net: IpNet) -> bool {
    net.prefix_len() == net.max_prefix_len()
}

fn parts(plan: &ClusterPlan, node: &NodePlan, routing: &RoutingPlan, aggregate: IpNet) -> Parts {
    if is_single(aggregate) {
        return Parts::One;
    }
    if announced(node, routing).any(|net| aggregate.contains(&net)) {
        return Parts::Own;
    }
    let overlaps = |net: &IpNet| net.contains(&aggregate) || aggregate.contains(net);
    let pools = || plan.pools.iter().flat_map(|(_, prefixes)| prefixes).any(|pool| overlaps(&pool.value));
    match &routing.workload {
        Some(workload)
            if workload.allow.value.is_empty() || workload.allow.value.iter().any(overlaps) || pools() =>
        {
            Parts::Services
        }
        _ => Parts::Nothing,
    }
}

fn announced<'n>(node: &'n NodePlan, routing: &'n RoutingPlan) -> impl Iterator<Item = IpNet> {
    let kinds = &routing.advertise.value;
    let loopback = kinds.contains(&Advertise::Loopback).then(|| node.loopback.iter());
    let dummies = node
        .dummies
        .iter()
        .filter(|dummy| kinds.contains(if dummy.anycast { &Advertise::Anycast } else { &Advertise::Dummy }));
    loopback.into_iter().flatten().chain(dummies.flat_map(|dummy| dummy.address.iter())).map(|(net, _)| net)
}

fn with_specifics(context: &Context<'_>, found: &mut Found) {
    report(context, found, Parts::Own, |aggregate, roll| {
        format!("{aggregate} covers addresses that {roll} announce as well")
    });
}

fn foreign(context: &Context<'_>, found: &mut Found) {
    report(context, found, Parts::Nothing, |aggregate, roll| {
        format!("{aggregate} contains nothing that {roll} announce, so it never appears")
    });
}

fn of_one(context: &Context<'_>, found: &mut Found) {
    report(context, found, Parts::One, |aggregate, _| {
        format!("{aggregate} is a single address, and the daemon refuses to aggregate it")
    });
}

fn report(context: &Context<'_>, found: &mut Found, wrong: Parts, message: fn(IpNet, &Roll<'_>) -> String) {
    let mut rolls = Rolls::new(context.plan);
    for (nodes, node, routing) in alike(context) {
        for aggregate in
            node.written().routing.get().into_iter().flat_map(|routing| routing.aggregates.items())
        {
            let wrong = those(context, nodes, |node| {
                parts(&context.plan.cluster, node, routing, aggregate.value.0) == wrong
            });
            rolls.add((aggregate.place, aggregate.value.0), &wrong, aggregate.place);
        }
    }
    for ((place, aggregate), roll) in rolls {
        let at = |rung: &Rung| {
            rung.routing.get()?.aggregates.items().map(|item| item.place).find(|found| *found == place)
        };
        let path = rung::path(context.cluster, roll.first().nth, "routing.aggregates", place, at);
        found.at(path, place, message(aggregate, &roll));
    }
}
