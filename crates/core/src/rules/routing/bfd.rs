//! BFD: one-sided configuration, and affected releases.

use super::backend;
use super::session::{self, FabricSession, sessions};
use crate::cluster::section::Bfd;
use crate::model::layer;
use crate::plan::backend::LimitationKind;
use crate::routing::fault;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::Software;
use ichor_values::Backend;
use ichor_values::Toggle;
use ichor_values::key::Key;

pub(super) const RULES: &[Rule] =
    &[ONE_SIDED, ONE_SIDED_AFFECTED, LISTEN_RANGE, VRF_NATIVE, LEAF_AFFECTED, RANGE];

const RANGE: Rule = Rule {
    id: "bfd-range",
    severity: Severity::Error,
    summary: "FRR does not accept an interval or multiplier of BFD",
    failure: "The interval is in milliseconds. With `interval: 1` FRR rejects the line, keeps its default of 300 ms \
              and does not read the lines after it.",
    fix: "write an `interval` of 10 to 60000 milliseconds and a `multiplier` of at least 2",
    check: check_range,
};

const ONE_SIDED: Rule = Rule {
    id: "bfd-one-sided",
    severity: Severity::Warning,
    summary: "only one end of a session has BFD",
    failure: "BFD never starts, and neither end reports it. If a switch between them fails, the routes stay for the \
              whole hold time.",
    fix: "enable `bfd` for both the neighbour and the router, or for neither",
    check: |context, findings| check_one_sided(context, findings, false),
};

const ONE_SIDED_AFFECTED: Rule = Rule {
    id: "bfd-one-sided-affected",
    severity: Severity::Error,
    summary: "only one end of a session has BFD, and its release then never starts BGP",
    failure: "FRR 10.2.0 to 10.2.2 and 10.3.0 do not start BGP while the BFD session is down. The sessions of all \
              nodes without BFD stay Idle.",
    fix: "enable or disable `bfd` on both ends, or upgrade that FRR to 10.2.3, 10.3.1 or later",
    check: |context, findings| check_one_sided(context, findings, true),
};

const LISTEN_RANGE: Rule = Rule {
    id: "bfd-listen-range",
    severity: Severity::Error,
    summary: "BFD with a router that accepts nodes by a range, on a release that does not support both",
    failure: "FRR 10.3.0 starts BFD only for a known neighbour, and BGP only once BFD is up, so the session stays \
              Idle. With GoBGP 4 on the node, the session flaps.",
    fix: "set `bfd: false` for this neighbour, list the nodes one by one on the router, or upgrade it",
    check: check_listen_range,
};

const VRF_NATIVE: Rule = Rule {
    id: "bfd-vrf-native",
    severity: Severity::Error,
    summary: "Talos' own BGP has BFD with the speaker, which it supports in the default VRF only",
    failure: "Talos rejects a BGP instance that has both a VRF and BFD, and with it the whole configuration.",
    fix: "set `bfd: false` for the speaker, which runs on the same machine",
    check: |context, findings| backend::report(context, findings, &[LimitationKind::BfdDomain]),
};

const LEAF_AFFECTED: Rule = Rule {
    id: "leaf-release-affected",
    severity: Severity::Note,
    summary: "a router's FRR does not accept a node whose port returns with another MAC address",
    failure: "After a network card is replaced, the router keeps BFD bound to the old link-local address and does not \
              start BGP with the new one. Only removing the neighbour on the router helps.",
    fix: "upgrade the router to FRR 10.2.3, 10.3.1 or later, or keep the ports' MAC addresses",
    check: check_leaf_affected,
};

/// The only end that has BFD.
fn single_bfd_side(session: &FabricSession<'_>) -> Option<BfdSide> {
    let router = session.router?.value.bfd.get()?;
    match (session.neighbor.bfd.is_some(), router) {
        (true, Toggle::Off) => Some(BfdSide::Node),
        (false, Toggle::On(_)) => Some(BfdSide::Router),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BfdSide {
    Node,
    Router,
}

/// Whether BFD on `end` alone permanently keeps BGP from starting.
fn is_stuck(session: &FabricSession<'_>, end: BfdSide) -> bool {
    match end {
        BfdSide::Node => {
            let routing = session.node.written().routing.get();
            let version = routing.and_then(|routing| routing.version.get());
            session.routing.backend.value == Backend::Frr
                && version.is_some_and(fault::waits_for_bfd)
                && session.address().is_some()
        }
        // On an unnumbered link the leaf starts BGP after some seconds, unless the node's BIRD waits for BFD.
        BfdSide::Router => {
            let waits = session.routing.backend.value == Backend::Bird;
            session.is_affected() && (session.address().is_some() || waits)
        }
    }
}

fn check_one_sided(context: &RuleContext<'_>, findings: &mut Findings, stuck: bool) {
    let mut problems = NodesByProblem::new(context.plan);
    for session in sessions(context) {
        if let Some(end) = single_bfd_side(&session)
            && is_stuck(&session, end) == stuck
        {
            problems.add((session.remote_end(), end), session.nodes, session.neighbor.place);
        }
    }
    for ((far, end), affected) in problems {
        let alone = match end {
            BfdSide::Node => format!("BFD is on for {affected} and off for {far}"),
            BfdSide::Router => format!("BFD is on for {far} and off for {affected}"),
        };
        let message = if stuck { format!("{alone}: BGP never starts") } else { alone };
        findings.add(
            session::key_path(context, affected.first(), affected.place()),
            affected.place(),
            message,
        );
    }
}

fn check_listen_range(context: &RuleContext<'_>, findings: &mut Findings) {
    backend::report(context, findings, &[LimitationKind::BfdRange]);
    let mut problems = NodesByProblem::new(context.plan);
    for session in sessions(context) {
        let by_range = session.router.is_some_and(|router| router.value.listen.is_set());
        if by_range && session.neighbor.bfd.is_some() && session.address().is_some() && session.is_affected()
        {
            problems.add(session.remote_end(), session.nodes, session.neighbor.place);
        }
    }
    for (far, affected) in problems {
        findings.add(
            session::key_path(context, affected.first(), affected.place()),
            affected.place(),
            format!(
                "BFD with {far}, which accepts {affected} by a listen range: its FRR release never starts BGP"
            ),
        );
    }
}

fn check_range(context: &RuleContext<'_>, findings: &mut Findings) {
    let frr = context.plan.routed.iter().any(|group| group.routing.backend.value == Backend::Frr);
    for layer in layer::all_layers(context.cluster).filter(|_| frr) {
        let Some(routing) = layer.settings.routing.get() else { continue };
        for (nth, neighbor) in routing.neighbors.items().enumerate() {
            let path = || layer.path(&format!("routing.neighbors[{nth}].bfd"));
            report_out_of_range(&neighbor.value.bfd, path, findings);
        }
        if let Some(workload) = routing.workload.get() {
            report_out_of_range(&workload.bfd, || layer.path("routing.workload.bfd"), findings);
        }
    }
    for router in context.cluster.routers() {
        let name = router.value.name.get().map_or("", |name| name.as_str());
        if router.value.software.value().unwrap_or(Software::Frr) == Software::Frr {
            report_out_of_range(&router.value.bfd, || format!("fabric.routers.{name}.bfd"), findings);
        }
    }
}

/// Reports the numbers of `bfd` that FRR rejects.
fn report_out_of_range(bfd: &Key<Toggle<Bfd>>, path: impl Fn() -> String, findings: &mut Findings) {
    let Some(bfd) = bfd.get().and_then(Toggle::settings) else { return };
    if let Some(at) = bfd.interval.at().filter(|at| !(10..=60_000).contains(at.value)) {
        let message = format!("FRR accepts 10 to 60000 ms, not {}", at.value);
        findings.add(format!("{}.interval", path()), at.place, message);
    }
    if let Some(at) = bfd.multiplier.at().filter(|at| *at.value < 2) {
        let message = format!("FRR accepts 2 to 255, not {}", at.value);
        findings.add(format!("{}.multiplier", path()), at.place, message);
    }
}

fn check_leaf_affected(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for session in sessions(context).filter(|session| session.address().is_none() && session.is_affected()) {
        let off = session.router.is_some_and(|router| router.value.bfd.get() == Some(&Toggle::Off));
        if session.neighbor.bfd.is_some() && !off {
            problems.add(session.neighbor.router_nth, session.nodes, session.neighbor.place);
        }
    }
    for (nth, _) in problems {
        let router = nth.and_then(|nth| context.cluster.routers().nth(nth));
        if let Some(router) = router
            && let (Some(name), Some(version)) = (router.value.name.get(), router.value.version.at())
        {
            findings.add(
                format!("fabric.routers.{name}.version"),
                version.place,
                format!(
                    "with BFD, FRR {} does not accept a port that returns with another MAC address",
                    version.value
                ),
            );
        }
    }
}
