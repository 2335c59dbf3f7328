//! Sessions, as both ends see them, and what they are for.

use std::collections::BTreeMap;

use super::case::{Case, list};
use super::{Known, Verdict};
use crate::model::Cluster;
use crate::observe::SessionTold;
use crate::plan::Plan;
use crate::probe::ProbeError;
use crate::routing::network::{End, Network};
use ichor_bgp::agent::Session;
use ichor_bgp::model::fabric::Found;
use ichor_bgp::setting::{Advertise, Software};
use ichor_talos::release::at_least;

/// The end of a node's session at a router that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Far {
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
pub fn far_ends(cluster: &Cluster, plan: &Plan) -> BTreeMap<String, Vec<Far>> {
    let mut all: BTreeMap<String, Vec<Far>> = BTreeMap::new();
    // What cannot be understood as a network is for `ichor check` to say.
    let Ok(network) = Network::of(cluster, plan) else { return all };
    for session in &network.sessions {
        let (End::Node(node, _), End::Router(nth, _)) = (session.0, session.1) else { continue };
        let router = &network.routers[nth];
        let mut listed = plan.routers.iter().filter(|_| router.listed);
        let planned =
            listed.find(|known| known.name.as_ref().is_some_and(|name| name.as_str() == router.name));
        let ssh = planned.and_then(|known| known.ssh.as_ref()).map(|ssh| ssh.value.to_string());
        let Some(ssh) = ssh else { continue };
        let peer = match &network.at(session.1).found {
            Found::Port { name, .. } => name.to_string(),
            Found::Address { address, .. } => address.to_string(),
        };
        let (router, vrf, software) = (router.name.clone(), router.vrf.clone(), router.software);
        let far = Far { router, ssh, software, peer, vrf };
        all.entry(network.nodes[node].name.to_string()).or_default().push(far);
    }
    all
}

pub(super) fn sessions(case: &Case<'_>) -> Option<Verdict> {
    let routing = case.node.routing.as_ref().filter(|_| case.has_documents())?;
    let Some(told) = case.told() else { return Some(case.silent()) };
    let Some(sessions) = told.sessions.as_ref() else { return Some(by_routes(case)) };
    let fabric: Vec<_> = sessions.iter().filter(|session| !session.speaker).collect();
    let (up, down): (Vec<_>, Vec<_>) = fabric.into_iter().partition(|session| session.established);
    let wanted = routing.neighbors.len();
    Some(match down.first() {
        Some(first) => {
            let evidence = list(down.iter().map(|session| words(session)));
            Verdict::broken(evidence, remedy(case, first))
        }
        None if up.len() < wanted => Verdict::broken(
            format!("it tells of {} sessions with the fabric, and should have {wanted}", up.len()),
            format!(
                "its daemon has another configuration: `ichor logs {}`, and `ichor show` for what is meant",
                case.name()
            ),
        ),
        None => Verdict::holds(list(up.into_iter().map(words))),
    })
}

fn words(session: &SessionTold) -> String {
    match &session.trouble {
        Some(trouble) => format!("{} is {}: {trouble}", session.peer, session.state),
        None if session.established => {
            format!(
                "{} is {}, {} prefixes in, {} out",
                session.peer, session.state, session.received, session.sent
            )
        }
        None => format!("{} is {}", session.peer, session.state),
    }
}

fn remedy(case: &Case<'_>, down: &SessionTold) -> String {
    match down.trouble {
        Some(_) => "what its agent says helps".to_owned(),
        None => format!(
            "see that the router has a session with AS {} here, with the same password and, where BFD is asked for, BFD",
            case.node.asn.as_ref().map_or_else(|| "of the node".to_owned(), |asn| asn.value.to_string())
        ),
    }
}

/// Where nobody tells of sessions, routes that came over them do.
fn by_routes(case: &Case<'_>) -> Verdict {
    let Some(detail) = case.detail() else { return case.silent() };
    let closed = case.is_early() && !at_least(&case.node.talos.value, 13);
    let why = match (closed, case.expected.sessions) {
        (true, _) => "its log is closed before it is configured on Talos before 1.13",
        (false, true) => "its agent has not said anything yet",
        (false, false) => "the extension it has tells nothing of its sessions",
    };
    let routes = match &detail.routes {
        Ok(routes) => routes.iter().filter(|route| route.protocol == "bgp"),
        Err(unread) => return Verdict::unknown(format!("{why}, and neither are its routes known: {unread}")),
    };
    let routes: Vec<_> =
        routes.map(|route| if route.dst.is_empty() { "default" } else { &route.dst }).collect();
    if routes.is_empty() {
        Verdict::unknown(format!("{why}, and no route came by BGP, which none need: see the routers"))
    } else {
        Verdict::holds(format!("routes came by BGP: {}", list(routes)))
    }
}

pub(super) fn routers(case: &Case<'_>) -> Option<Verdict> {
    if case.far.is_empty() || !case.has_documents() {
        return None;
    }
    let looks: Vec<_> = case.far.iter().map(|far| at_router(case, far)).collect();
    let broken = |verdict: &&Verdict| matches!(verdict, Verdict::Broken { .. });
    let unknown = |verdict: &&Verdict| matches!(verdict, Verdict::Unknown { .. });
    let told = looks.iter().find(broken).or_else(|| looks.iter().find(unknown));
    Some(told.cloned().unwrap_or_else(|| {
        let evidence = looks.into_iter().filter_map(|verdict| match verdict {
            Verdict::Holds { evidence } => Some(evidence),
            _ => None,
        });
        Verdict::holds(list(evidence))
    }))
}

fn at_router(case: &Case<'_>, far: &Far) -> Verdict {
    let router = &far.router;
    if far.software != Software::Frr {
        return Verdict::unknown(format!("{router} runs {}, and only FRR is asked", far.software.word()));
    }
    let sessions = match case.all.routers.get(router) {
        Some(Ok(sessions)) => sessions,
        Some(Err(why)) => return Verdict::unknown(format!("{router} cannot be asked: {why}")),
        None => return Verdict::unknown(format!("{router} was not asked")),
    };
    let is_it = |it: &&Session| it.peer == far.peer && it.domain == far.vrf;
    let Some(session) = sessions.iter().find(is_it) else {
        let has = sessions.iter().map(|it| it.peer.as_str());
        return Verdict::broken(
            format!("{router} has no session with {}; it has {}", far.peer, list(has)),
            format!("give it the configuration that `ichor build` writes to fabric/{router}"),
        );
    };
    if !session.is_established() {
        let said = session.said.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
        return Verdict::broken(
            format!("{router} sees {} as {}{said}", far.peer, session.state),
            format!(
                "compare {router} with what `ichor build` writes for it: AS numbers, password, BFD, the port"
            ),
        );
    }
    let announces = case.node.routing.as_ref().is_some_and(|routing| !routing.advertise.value.is_empty());
    match session.received {
        0 if announces => Verdict::broken(
            format!("{router} has a session with {} and takes no prefix from it", far.peer),
            format!(
                "a filter of {router} refuses them, or the node announces nothing: `ichor prove` says what is meant"
            ),
        ),
        taken => {
            Verdict::holds(format!("{router} sees {} as established and takes {taken} prefixes", far.peer))
        }
    }
}

pub(super) fn loopback(case: &Case<'_>) -> Option<Verdict> {
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
        None => Verdict::holds(format!("{} answer", list(case.seen.loopbacks.iter().map(|(at, _)| at)))),
        Some((at, why)) if no_way(why) => {
            Verdict::unknown(format!("this machine has no route to {at}: {why}"))
        }
        Some((at, why)) => Verdict::broken(
            format!("{at} does not answer: {why}"),
            "see with `ichor prove` who should have a route there, and on the way from here who has none",
        ),
    })
}

/// Whether it lies with this machine.
fn no_way(why: &ProbeError) -> bool {
    why.to_string().contains("unreachable")
}

pub(super) fn speaker(case: &Case<'_>) -> Option<Verdict> {
    case.node.routing.as_ref()?.workload.as_ref().filter(|_| !case.is_early() && case.expected.sessions)?;
    let Some(told) = case.told() else { return Some(case.silent()) };
    let found: Known<Vec<_>> = match &told.sessions {
        None => Err(ProbeError::new("nobody tells of its sessions")),
        Some(all) => Ok(all.iter().filter(|session| session.speaker).collect()),
    };
    Some(match found {
        Err(error) => Verdict::unknown(error.to_string()),
        Ok(found) if found.is_empty() => Verdict::unknown("its agent tells nothing of a speaker"),
        Ok(found) => match found.iter().find(|session| !session.established) {
            None => Verdict::holds(list(found.into_iter().map(words))),
            Some(down) => Verdict::broken(
                words(down),
                "see that the speaker runs on the node, with the manifests that `ichor build` writes",
            ),
        },
    })
}
