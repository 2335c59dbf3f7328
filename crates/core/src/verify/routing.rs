//! Sessions, as both ends see them, and what they are for.

use std::collections::BTreeMap;

use super::case::{NodeContext, list};
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

/// The end of a node's session at a router that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterPeering {
    /// The router.
    pub router: String,
    /// User and host for ssh.
    pub ssh: String,
    /// What it runs.
    pub software: Software,
    /// By what it knows the node: an address, or its own port.
    pub peer: String,
    /// The VRF of the session.
    pub vrf: Option<String>,
}

/// The routers that say how they are reached, by the nodes that have sessions with them.
pub fn far_ends(cluster: &Cluster, plan: &Plan) -> BTreeMap<String, Vec<RouterPeering>> {
    let mut all: BTreeMap<String, Vec<RouterPeering>> = BTreeMap::new();
    // What cannot be understood as a network is for `ichor check` to say.
    let Ok(network) = BgpTopology::of(cluster, plan) else { return all };
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

pub(super) fn sessions(case: &NodeContext<'_>) -> Option<CheckResult> {
    let routing = case.node.routing.as_ref().filter(|_| case.has_documents())?;
    let Some(told) = case.told() else { return Some(case.silent()) };
    let Some(sessions) = told.sessions.as_ref() else { return Some(by_routes(case)) };
    let fabric: Vec<_> = sessions.iter().filter(|session| !session.speaker).collect();
    let (up, down): (Vec<_>, Vec<_>) = fabric.into_iter().partition(|session| session.established);
    let wanted = routing.neighbors.len();
    Some(match down.first() {
        Some(first) => {
            let evidence = list(down.iter().map(|session| words(session)));
            CheckResult::broken(evidence, remedy(case, first))
        }
        None if up.len() < wanted => CheckResult::broken(
            format!("the node reports {} sessions with the fabric, expected {wanted}", up.len()),
            format!(
                "its routing daemon runs another configuration: compare `ichor logs {}` with `ichor show`",
                case.name()
            ),
        ),
        None => CheckResult::holds(list(up.into_iter().map(words))),
    })
}

fn words(session: &SessionStatus) -> String {
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

/// Where nobody tells of sessions, routes that came over them do.
fn by_routes(case: &NodeContext<'_>) -> CheckResult {
    let Some(detail) = case.detail() else { return case.silent() };
    let closed = case.is_early() && !at_least(&case.node.talos.value, 13);
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
        CheckResult::holds(format!("BGP routes: {}", list(routes)))
    }
}

pub(super) fn routers(case: &NodeContext<'_>) -> Option<CheckResult> {
    if case.far.is_empty() || !case.has_documents() {
        return None;
    }
    let looks: Vec<_> = case.far.iter().map(|far| at_router(case, far)).collect();
    let broken = |verdict: &&CheckResult| matches!(verdict, CheckResult::Broken { .. });
    let unknown = |verdict: &&CheckResult| matches!(verdict, CheckResult::Unknown { .. });
    let told = looks.iter().find(broken).or_else(|| looks.iter().find(unknown));
    Some(told.cloned().unwrap_or_else(|| {
        let evidence = looks.into_iter().filter_map(|verdict| match verdict {
            CheckResult::Holds { evidence } => Some(evidence),
            _ => None,
        });
        CheckResult::holds(list(evidence))
    }))
}

fn at_router(case: &NodeContext<'_>, far: &RouterPeering) -> CheckResult {
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
        return CheckResult::broken(
            format!("{router} has no session with {}; its neighbours are {}", far.peer, list(has)),
            format!("apply the configuration in fabric/{router}, written by `ichor build`"),
        );
    };
    if !session.is_established() {
        let said = session.said.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
        return CheckResult::broken(
            format!("{router} reports {} as {}{said}", far.peer, session.state),
            format!(
                "compare the configuration of {router} with fabric/{router}: AS numbers, password, BFD, port"
            ),
        );
    }
    let announces = case.node.routing.as_ref().is_some_and(|routing| !routing.advertise.value.is_empty());
    match session.received {
        0 if announces => CheckResult::broken(
            format!("{router} accepts no prefixes from {}", far.peer),
            format!(
                "an import filter of {router} rejects them, or the node announces nothing: `ichor prove` shows what is expected"
            ),
        ),
        taken => CheckResult::holds(format!(
            "{router} reports {} as Established, {taken} prefixes accepted",
            far.peer
        )),
    }
}

pub(super) fn loopback(case: &NodeContext<'_>) -> Option<CheckResult> {
    let announced =
        |routing: &crate::plan::RoutingPlan| routing.advertise.value.contains(&Advertise::Loopback);
    let routes = case.node.routing.as_deref().is_some_and(announced);
    if !routes || case.node.loopback.iter().next().is_none() || !case.has_documents() {
        return None;
    }
    let silent: Vec<_> =
        case.seen.loopbacks.iter().filter_map(|(at, told)| Some((at, told.as_ref().err()?))).collect();
    Some(match silent.first() {
        None if case.seen.loopbacks.is_empty() => case.silent(),
        None => {
            CheckResult::holds(format!("{} reachable", list(case.seen.loopbacks.iter().map(|(at, _)| at))))
        }
        Some((at, why)) if no_way(why) => {
            CheckResult::unknown(format!("this host has no route to {at}: {why}"))
        }
        Some((at, why)) => CheckResult::broken(
            format!("{at} does not answer: {why}"),
            "`ichor prove` shows which routers should have a route to it; find the hop on the path from here that has none",
        ),
    })
}

/// Whether it lies with this machine.
fn no_way(why: &ProbeError) -> bool {
    why.to_string().contains("unreachable")
}

pub(super) fn speaker(case: &NodeContext<'_>) -> Option<CheckResult> {
    case.node.routing.as_ref()?.workload.as_ref().filter(|_| !case.is_early() && case.expected.sessions)?;
    let Some(told) = case.told() else { return Some(case.silent()) };
    let found: Probed<Vec<_>> = match &told.sessions {
        None => Err(ProbeError::new("the node does not report its sessions")),
        Some(all) => Ok(all.iter().filter(|session| session.speaker).collect()),
    };
    Some(match found {
        Err(error) => CheckResult::unknown(error.to_string()),
        Ok(found) if found.is_empty() => CheckResult::unknown("its agent reports no session with a speaker"),
        Ok(found) => match found.iter().find(|session| !session.established) {
            None => CheckResult::holds(list(found.into_iter().map(words))),
            Some(down) => CheckResult::broken(
                words(down),
                "check that the speaker runs on the node, with the manifests that `ichor build` writes",
            ),
        },
    })
}
