//! Limitations of the backend, its extension and the Talos release.

use super::session::{self, bgp_groups};
use crate::cluster::section::{NodeSettings, Routing};
use crate::model::layer;
use crate::plan::backend::{Limitation, LimitationKind, RequestedFeatures, limitations};
use crate::plan::{NeighborAddress, NeighborPlan, NodePlan};
use crate::rules::affected_nodes::{AffectedNodes, NodesByProblem};
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::Carrier;
use ichor_values::Backend;
use ichor_values::Location;

pub(super) const RULES: &[Rule] = &[CANNOT, TOO_OLD, PASSWORD, HEALTH, TRANSIT];

const CANNOT: Rule = Rule {
    id: "backend-cannot",
    severity: Severity::Error,
    summary: "the backend does not support a setting",
    failure: "The daemon's configuration has no field for the setting. Without communities, for example, which Talos' \
              own BGP lacks, other routers do not know which routes to keep inside.",
    fix: "choose a backend that supports it, or remove the setting",
    check: |context, findings| {
        report(context, findings, &[LimitationKind::NextHop, LimitationKind::Timers, LimitationKind::Other]);
    },
};

const TOO_OLD: Rule = Rule {
    id: "backend-too-old",
    severity: Severity::Error,
    summary: "the Talos release does not have the backend, document or extension",
    failure: "A node with an older release, such as Talos 1.13 with `backend: native`, rejects the unknown document \
              and with it the whole configuration.",
    fix: "upgrade the node's Talos first, or choose another backend for it",
    check: |context, findings| report(context, findings, &[LimitationKind::Release]),
};

const PASSWORD: Rule = Rule {
    id: "password-unsupported",
    severity: Severity::Error,
    summary: "a session has a password, which the backend does not support",
    failure: "The router's kernel silently drops unsigned segments. The session stays in Connect, and neither end logs \
              an error.",
    fix: "use `backend: frr`, `bird` or `gobgp`, or remove the password on both ends",
    check: |context, findings| report(context, findings, &[LimitationKind::Password]),
};

const HEALTH: Rule = Rule {
    id: "anycast-health-agent",
    severity: Severity::Error,
    summary: "the anycast address depends on the API's health, but no agent checks it",
    failure: "A node whose API server hangs continues to announce the anycast address, and a part of all requests to \
              the API fails.",
    fix: "use ichor's extension (`carrier: ichor` with frr, bird or gobgp), or remove `health`",
    check: |context, findings| report(context, findings, &[LimitationKind::Health]),
};

const TRANSIT: Rule = Rule {
    id: "native-transit",
    severity: Severity::Error,
    summary: "Talos' own BGP peers with routers of different AS numbers, which makes the node a transit network",
    failure: "Talos' own BGP has no policy and announces to each router the routes of the others. If a spine fails, \
              traffic between routers goes through the nodes' ports.",
    fix: "use `backend: frr`, give these routers one AS number, or have them accept only the node's own prefixes and \
          silence the finding",
    check: |context, findings| report(context, findings, &[LimitationKind::Transit]),
};

/// Reports limitations of these kinds, each once for all nodes.
pub(super) fn report(context: &RuleContext<'_>, findings: &mut Findings, kinds: &[LimitationKind]) {
    let mut problems = NodesByProblem::new(context.plan);
    for (nodes, _, routing) in bgp_groups(context) {
        for lack in routing.limitations.iter().filter(|lack| kinds.contains(&lack.kind)) {
            problems.add((routing.backend.value, lack), nodes, Location::default());
        }
    }
    for ((backend, lack), affected) in problems {
        let (path, place) = requesting_key(context, &affected, lack);
        let Limitation { what, why, .. } = lack;
        let others = suitable_backends(context, &affected);
        let message = match lack.kind {
            LimitationKind::Release => format!("{affected} cannot use {what}: {why}{others}"),
            _ => format!("{backend} on {affected} does not support {what}: {why}{others}"),
        };
        findings.add(path, place, message);
    }
}

/// The path and location of the key that requests the missing feature.
fn requesting_key(
    context: &RuleContext<'_>,
    affected: &AffectedNodes<'_>,
    lack: &Limitation,
) -> (String, Location) {
    let node = affected.first();
    let section = node.written().routing.place().unwrap_or(node.place);
    if lack.kind == LimitationKind::Health {
        let place = node.written().network.get().and_then(|network| network.api.get()?.health.place());
        let place = place.unwrap_or(section);
        let at = |settings: &NodeSettings| settings.network.get()?.api.get()?.health.place();
        return (layer::setting_path(context.cluster, node.nth, lack.key, place, at), place);
    }
    if let Some(place) = (lack.key == "neighbors").then(|| requesting_session(node, lack.kind)).flatten() {
        return (session::key_path(context, node, place), place);
    }
    match node.written().routing.get().and_then(|routing| place_of(routing, lack.key)) {
        Some(place) => {
            let (key, at) = (format!("routing.{}", lack.key), |settings: &NodeSettings| {
                place_of(settings.routing.get()?, lack.key)
            });
            (layer::setting_path(context.cluster, node.nth, &key, place, at), place)
        }
        None => (
            layer::setting_path(context.cluster, node.nth, "routing", section, |settings| {
                settings.routing.place()
            }),
            section,
        ),
    }
}

/// The location of the first session that requests the missing feature.
fn requesting_session(node: &NodePlan, kind: LimitationKind) -> Option<Location> {
    let requests = |neighbor: &&NeighborPlan| match kind {
        LimitationKind::Password => neighbor.password.is_some(),
        LimitationKind::BfdRange => {
            neighbor.bfd.is_some() && matches!(neighbor.peer, NeighborAddress::Address(_))
        }
        LimitationKind::NextHop => {
            matches!(neighbor.peer, NeighborAddress::Address(address) if address.is_ipv6())
        }
        LimitationKind::Timers => {
            matches!(neighbor.timers.value, (keepalive, hold) if keepalive == 0 || keepalive != hold / 3)
        }
        _ => true,
    };
    node.routing.as_ref()?.neighbors.iter().find(requests).map(|neighbor| neighbor.place)
}

/// The location of a key that a [`Limitation`] names.
fn place_of(routing: &Routing, key: &str) -> Option<Location> {
    let policy_in = || routing.policy.get()?.r#in.get();
    let policy_out = || routing.policy.get()?.out.get();
    match key {
        "backend" => routing.backend.place(),
        "carrier" => routing.carrier.place(),
        "policy.in.allow" => policy_in()?.allow.place(),
        "policy.in.max_prefixes" => policy_in()?.max_prefixes.place(),
        "policy.in.local_preference" => policy_in()?.local_preference.place(),
        "policy.out.communities" => policy_out()?.communities.place(),
        "policy.out.prepend" => policy_out()?.prepend.place(),
        "version" => routing.version.place(),
        "service" => routing.service.place(),
        "advertise" => routing.advertise.place(),
        "aggregates" => routing.aggregates.place(),
        "graceful_restart" => routing.graceful_restart.place(),
        "workload" => routing.workload.place(),
        "workload.isolation" => routing.workload.get()?.isolation.place(),
        "workload.bfd" => routing.workload.get()?.bfd.place(),
        "agent.status" => routing.agent.get()?.status.place(),
        "template" => routing.template.place(),
        "daemons" => routing.daemons.place(),
        _ => None,
    }
}

/// The backends that support all features that the first node requests, in words.
fn suitable_backends(context: &RuleContext<'_>, affected: &AffectedNodes<'_>) -> String {
    let node = affected.first();
    let Some(ask) = RequestedFeatures::from_node(context.cluster, node) else { return String::new() };
    let chosen = node.routing.as_ref().map(|routing| routing.backend.value);
    let suitable = Backend::ALL.iter().filter_map(|&backend| {
        let carrier = (backend != Backend::Native).then_some(Carrier::Ichor);
        let extension = if chosen == Some(backend) { " with ichor's extension" } else { "" };
        limitations(backend, carrier, &ask).is_empty().then(|| format!("{backend}{extension}"))
    });
    match suitable.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [one] => format!("; use {one}"),
        [all @ .., last] => format!("; use {} or {last}", all.join(", ")),
    }
}
