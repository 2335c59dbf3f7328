//! IPv4 prefixes over IPv6 sessions.

use std::net::IpAddr;

use super::session::{self, FabricSession, matching_nodes, sessions};
use crate::plan::{ClusterPlan, NeighborAddress, NodePlan, RoutingPlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::{Advertise, Speaker};

pub(super) const RULES: &[Rule] = &[MISSING, UNKNOWN];

const MISSING: Rule = Rule {
    id: "extended-nexthop-missing",
    severity: Severity::Error,
    summary: "IPv4 prefixes are announced over an IPv6 session to a router without extended next hop",
    failure: "All sessions are established and IPv6 works, but the router has no route to an IPv4 service address. BGP \
              reports no error.",
    fix: "enable extended next hop on the router and set `extended_nexthop: true`, or peer over IPv4 as well",
    check: |context, findings| check_next_hops(context, findings, Some(false)),
};

const UNKNOWN: Rule = Rule {
    id: "extended-nexthop-unknown",
    severity: Severity::Note,
    summary: "IPv4 prefixes are announced over an IPv6 session to a router whose support for extended next hop is \
              unknown",
    failure: "If one end lacks extended next hop, the session comes up and stays up without the IPv4 prefixes. The \
              node shows them as announced.",
    fix: "list the router under `fabric.routers` and set `extended_nexthop: true` or `false`",
    check: |context, findings| check_next_hops(context, findings, None),
};

fn check_next_hops(context: &RuleContext<'_>, findings: &mut Findings, supported: Option<bool>) {
    let has_v4_pools = speaker_announces_v4(&context.plan.cluster);
    let mut problems = NodesByProblem::new(context.plan);
    for session in sessions(context) {
        if matches!(session.address(), Some(IpAddr::V6(_)))
            && accepts_v4(&session) == supported
            && !has_v4_session(session.routing)
        {
            let affected = matching_nodes(context, session.nodes, |node| {
                announces_v4(node, session.routing, has_v4_pools)
            });
            problems.add(session.remote_end(), &affected, session.neighbor.place);
        }
    }
    for (far, affected) in problems {
        let message = match supported {
            Some(_) => {
                format!("the IPv4 prefixes of {affected} never reach {far}, which has no extended next hop")
            }
            None => format!(
                "the IPv4 prefixes of {affected} reach {far} only if it has extended next hop, which the file does not state"
            ),
        };
        findings.add(
            session::key_path(context, affected.first(), affected.place()),
            affected.place(),
            message,
        );
    }
}

/// Whether the router accepts IPv4 routes with IPv6 next hops.
fn accepts_v4(session: &FabricSession<'_>) -> Option<bool> {
    session.router?.value.supports_extended_nexthop()
}

fn has_v4_session(routing: &RoutingPlan) -> bool {
    routing.neighbors.iter().any(|neighbor| matches!(neighbor.peer, NeighborAddress::Address(IpAddr::V4(_))))
}

fn announces_v4(node: &NodePlan, routing: &RoutingPlan, has_v4_pools: bool) -> bool {
    let kinds = &routing.advertise.value;
    let dummy =
        |anycast| node.dummies.iter().any(|dummy| dummy.anycast == anycast && dummy.address.v4.is_some());
    let may_announce_v4 = |workload: &crate::plan::WorkloadPlan| {
        has_v4_pools
            || workload.allow.value.iter().any(|prefix| prefix.addr().is_ipv4())
            || workload.speaker == Speaker::Cilium
    };
    (kinds.contains(&Advertise::Loopback) && node.loopback.v4.is_some())
        || (kinds.contains(&Advertise::Dummy) && dummy(false))
        || (kinds.contains(&Advertise::Anycast) && dummy(true))
        || routing.workload.as_ref().is_some_and(may_announce_v4)
}

fn speaker_announces_v4(plan: &ClusterPlan) -> bool {
    plan.pools.iter().flat_map(|(_, prefixes)| prefixes).any(|prefix| prefix.value.addr().is_ipv4())
}
