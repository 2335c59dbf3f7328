//! Checks of BGP sessions from both ends, of loopbacks and of the speaker.

use std::collections::BTreeMap;

use super::context::{NodeContext, join_list};
use super::{CheckResult, Probed};
use crate::model::Cluster;
use crate::observe::SessionStatus;
use crate::plan::Plan;
use crate::probe::ProbeError;
use crate::routing::network::{BgpTopology, TopologyEnd};
use ichor_bgp::agent::Session;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::setting::{Advertise, Software};
use ichor_talos::release::at_least;

/// The router's end of a node's session, at a router that can be queried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterPeering {
    /// The router.
    pub router: String,
    /// User and host for SSH.
    pub ssh: String,
    /// Its software.
    pub software: Software,
    /// The node's name in its configuration: an address, or its own port.
    pub peer: String,
    /// The VRF of the session.
    pub vrf: Option<String>,
}

/// The peerings with routers that have `reach`, by node.
pub fn router_peerings(cluster: &Cluster, plan: &Plan) -> BTreeMap<String, Vec<RouterPeering>> {
    let mut all: BTreeMap<String, Vec<RouterPeering>> = BTreeMap::new();
    // `ichor check` reports an invalid network.
    let Ok(network) = BgpTopology::from_plan(cluster, plan) else { return all };
    for session in &network.sessions {
        let (TopologyEnd::Node(node, _), TopologyEnd::Router(nth, _)) = (session.0, session.1) else {
            continue;
        };
        let router = &network.routers[nth];
        let mut listed = plan.routers.iter().filter(|_| router.listed);
        let planned =
            listed.find(|known| known.name.as_ref().is_some_and(|name| name.as_str() == router.name));
        let ssh = planned.and_then(|known| known.ssh.as_ref()).map(|ssh| ssh.value.to_string());
        let Some(ssh) = ssh else { continue };
        let peer = match &network.at(session.1).found {
            PeerAddress::Port { name, .. } => name.to_string(),
            PeerAddress::Address { address, .. } => address.to_string(),
        };
        let (router, vrf, software) = (router.name.clone(), router.vrf.clone(), router.software);
        let far = RouterPeering { router, ssh, software, peer, vrf };
        all.entry(network.nodes[node].name.to_string()).or_default().push(far);
    }
    all
}

pub(super) fn check_sessions(case: &NodeContext<'_>) -> Option<CheckResult> {
    let routing = case.node.routing.as_ref().filter(|_| case.has_documents())?;
    let Some(snapshot) = case.snapshot() else { return Some(case.unreachable()) };
    let Some(sessions) = snapshot.sessions.as_ref() else { return Some(check_routes(case)) };
    let fabric: Vec<_> = sessions.iter().filter(|session| !session.speaker).collect();
    let (up, down): (Vec<_>, Vec<_>) = fabric.into_iter().partition(|session| session.established);
    let wanted = routing.neighbors.len();
    Some(match down.first() {
        Some(first) => {
            let evidence = join_list(down.iter().map(|session| describe_session(session)));
            CheckResult::failed(evidence, remedy(case, first))
        }
        None if up.len() < wanted => CheckResult::failed(
            format!("the node reports {} sessions with the fabric, expected {wanted}", up.len()),
            format!(
                "its routing daemon runs another configuration: compare `ichor logs {}` with `ichor show`",
                case.name()
            ),
        ),
        None => CheckResult::passed(join_list(up.into_iter().map(describe_session))),
    })
}

fn describe_session(session: &SessionStatus) -> String {
    match &session.trouble {
        Some(trouble) => format!("{} is {}: {trouble}", session.peer, session.state),
        None if session.established => {
            format!(
                "{} is {}, {} prefixes received, {} sent",
                session.peer, session.state, session.received, session.sent
            )
        }
        None => format!("{} is {}", session.peer, session.state),
    }
}

fn remedy(case: &NodeContext<'_>, down: &SessionStatus) -> String {
    match down.trouble {
        Some(_) => "follow the diagnosis of its agent".to_owned(),
        None => format!(
            "check that the router has a session with AS {} on this link, with the same password and BFD setting",
            case.node.asn.as_ref().map_or_else(|| "of the node".to_owned(), |asn| asn.value.to_string())
        ),
    }
}

/// Checks the routes learned by BGP if the sessions are not reported.
fn check_routes(case: &NodeContext<'_>) -> CheckResult {
    let Some(detail) = case.detail() else { return case.unreachable() };
    let closed = case.is_in_maintenance() && !at_least(&case.node.talos.value, 13);
    let why = match (closed, case.expected.sessions) {
        (true, _) => "Talos before 1.13 gives no access to its log in maintenance mode",
        (false, true) => "its agent has not reported yet",
        (false, false) => "its extension does not report BGP sessions",
    };
    let routes = match &detail.routes {
        Ok(routes) => routes.iter().filter(|route| route.protocol == "bgp"),
        Err(unread) => {
            return CheckResult::unknown(format!("{why}, and its routes cannot be read: {unread}"));
        }
    };
    let routes: Vec<_> =
        routes.map(|route| if route.dst.is_empty() { "default" } else { &route.dst }).collect();
    if routes.is_empty() {
        CheckResult::unknown(format!(
            "{why}, and the node has no BGP routes, which may be intended: check the routers"
        ))
    } else {
        CheckResult::passed(format!("BGP routes: {}", join_list(routes)))
    }
}

pub(super) fn check_routers(case: &NodeContext<'_>) -> Option<CheckResult> {
    if case.peerings.is_empty() || !case.has_documents() {
        return None;
    }
    let results: Vec<_> = case.peerings.iter().map(|peering| check_router(case, peering)).collect();
    let is_failed = |verdict: &&CheckResult| matches!(verdict, CheckResult::Failed { .. });
    let is_unknown = |verdict: &&CheckResult| matches!(verdict, CheckResult::Unknown { .. });
    let worst = results.iter().find(is_failed).or_else(|| results.iter().find(is_unknown));
    Some(worst.cloned().unwrap_or_else(|| {
        let evidence = results.into_iter().filter_map(|verdict| match verdict {
            CheckResult::Passed { evidence } => Some(evidence),
            _ => None,
        });
        CheckResult::passed(join_list(evidence))
    }))
}

fn check_router(case: &NodeContext<'_>, far: &RouterPeering) -> CheckResult {
    let router = &far.router;
    if far.software != Software::Frr {
        return CheckResult::unknown(format!(
            "{router} runs {}; only FRR can be queried",
            far.software.word()
        ));
    }
    let sessions = match case.all.routers.get(router) {
        Some(Ok(sessions)) => sessions,
        Some(Err(why)) => return CheckResult::unknown(format!("cannot query {router}: {why}")),
        None => return CheckResult::unknown(format!("{router} was not queried")),
    };
    let is_it = |it: &&Session| it.peer == far.peer && it.domain == far.vrf;
    let Some(session) = sessions.iter().find(is_it) else {
        let has = sessions.iter().map(|it| it.peer.as_str());
        return CheckResult::failed(
            format!("{router} has no session with {}; its neighbours are {}", far.peer, join_list(has)),
            format!("apply the configuration in fabric/{router}, written by `ichor build`"),
        );
    };
    if !session.is_established() {
        let error = session.said.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        return CheckResult::failed(
            format!("{router} reports {} as {}{error}", far.peer, session.state),
            format!(
                "compare the configuration of {router} with fabric/{router}: AS numbers, password, BFD, port"
            ),
        );
    }
    let announces = case.node.routing.as_ref().is_some_and(|routing| !routing.advertise.value.is_empty());
    match session.received {
        0 if announces => CheckResult::failed(
            format!("{router} accepts no prefixes from {}", far.peer),
            format!(
                "an import filter of {router} rejects them, or the node announces nothing: `ichor prove` shows what is expected"
            ),
        ),
        accepted => CheckResult::passed(format!(
            "{router} reports {} as Established, {accepted} prefixes accepted",
            far.peer
        )),
    }
}

pub(super) fn check_loopback(case: &NodeContext<'_>) -> Option<CheckResult> {
    let announced =
        |routing: &crate::plan::RoutingPlan| routing.advertise.value.contains(&Advertise::Loopback);
    let routes = case.node.routing.as_deref().is_some_and(announced);
    if !routes || case.node.loopback.iter().next().is_none() || !case.has_documents() {
        return None;
    }
    let failed: Vec<_> =
        case.seen.loopbacks.iter().filter_map(|(at, probe)| Some((at, probe.as_ref().err()?))).collect();
    Some(match failed.first() {
        None if case.seen.loopbacks.is_empty() => case.unreachable(),
        None => CheckResult::passed(format!(
            "{} reachable",
            join_list(case.seen.loopbacks.iter().map(|(at, _)| at))
        )),
        Some((at, why)) if is_local_error(why) => {
            CheckResult::unknown(format!("this host has no route to {at}: {why}"))
        }
        Some((at, why)) => CheckResult::failed(
            format!("{at} does not answer: {why}"),
            "`ichor prove` shows which routers should have a route to it; find the hop on the path from here that has none",
        ),
    })
}

/// Whether this host has no route.
fn is_local_error(why: &ProbeError) -> bool {
    why.to_string().contains("unreachable")
}

pub(super) fn check_speaker(case: &NodeContext<'_>) -> Option<CheckResult> {
    case.node
        .routing
        .as_ref()?
        .workload
        .as_ref()
        .filter(|_| !case.is_in_maintenance() && case.expected.sessions)?;
    let Some(snapshot) = case.snapshot() else { return Some(case.unreachable()) };
    let found: Probed<Vec<_>> = match &snapshot.sessions {
        None => Err(ProbeError::new("the node does not report its sessions")),
        Some(all) => Ok(all.iter().filter(|session| session.speaker).collect()),
    };
    Some(match found {
        Err(error) => CheckResult::unknown(error.to_string()),
        Ok(found) if found.is_empty() => CheckResult::unknown("its agent reports no session with a speaker"),
        Ok(found) => match found.iter().find(|session| !session.established) {
            None => CheckResult::passed(join_list(found.into_iter().map(describe_session))),
            Some(down) => CheckResult::failed(
                describe_session(down),
                "check that the speaker runs on the node, with the manifests that `ichor build` writes",
            ),
        },
    })
}
