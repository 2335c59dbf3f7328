//! BGP on one node: sessions with the fabric and with the speaker.

use std::net::IpAddr;

use ipnet::IpNet;

use super::backend::Ask;
use super::derive::{self, Rule};
use super::{Decided, NeighborPlan, Peer, Port, RoutingPlan, WorkloadPlan, announced, backend};
use crate::cluster::section::{Bfd, Neighbor, Role, Router, Routing, Rung, Workload};
use crate::model::Cluster;
use ichor_bgp::setting::{Carrier, Isolation, MetallbMode, RouterRole, Speaker};
use ichor_values::Backend;
use ichor_values::key::{At, Key};
use ichor_values::{Asn, TalosVersion, Toggle};

/// Keepalive and hold time when nobody says otherwise.
const TIMERS: (u16, u16) = (3, 9);

/// Decides everything about a node's BGP.
pub fn plan(
    cluster: &Cluster,
    routing: &Routing,
    settings: &Rung,
    role: Role,
    ports: &[Port],
    talos: &TalosVersion,
) -> RoutingPlan {
    let neighbors = match routing.neighbors.get() {
        Some(list) => list.0.iter().filter_map(|neighbor| neighbor_plan(cluster, neighbor)).collect(),
        None => from_fabric(cluster, ports),
    };
    let gobgp = routing.backend.value() == Some(Backend::Gobgp);
    let workload = routing.workload.at().and_then(|workload| workload_plan(cluster, &workload, gobgp));
    let health = backend::watches_health(settings, role);
    let advertise = match routing.advertise.at() {
        Some(at) => Decided::written(announced::kinds(routing), at.place),
        None => Decided::default(announced::kinds(routing), "everything the node has for others"),
    };
    let more = announced::has_more(settings, role, routing);
    let ask =
        Ask { cluster, talos, routing, neighbors: &neighbors, workload: workload.as_ref(), health, more };
    let backend = match routing.backend.at() {
        Some(at) => Decided::written(*at.value, at.place),
        None => {
            let native = backend::lacks(Backend::Native, None, &ask).is_empty();
            Decided::derived(if native { Backend::Native } else { Backend::Frr }, Rule::FirstBackend, None)
        }
    };
    let carrier = (backend.value != Backend::Native).then(|| match routing.carrier.at() {
        Some(at) => Decided::written(*at.value, at.place),
        None => Decided::default(Carrier::Ichor, "ichor's extension, with the agent"),
    });
    let lacks = backend::lacks(backend.value, carrier.as_ref().map(|carrier| carrier.value), &ask);
    RoutingPlan { backend, carrier, lacks, advertise, neighbors, workload }
}

fn bfd_of(bfd: &Key<Toggle<Bfd>>, default: bool) -> Option<(u32, u8)> {
    let numbers = |bfd: &Bfd| (bfd.interval.value().unwrap_or(300), bfd.multiplier.value().unwrap_or(3));
    match bfd.get() {
        Some(toggle) => toggle.on().map(numbers),
        None => default.then_some((300, 3)),
    }
}

fn neighbor_plan(cluster: &Cluster, at: &At<Neighbor>) -> Option<NeighborPlan> {
    let neighbor = &at.value;
    let found = router_of(cluster, neighbor);
    let router = found.map(|(_, router)| router);
    let peer = match (neighbor.address.get(), neighbor.link.get()) {
        (Some(address), _) => Peer::Address(*address),
        (None, Some(link)) => Peer::Link(link.clone()),
        (None, None) => Peer::Address(router?.addresses.get()?.values().next().copied()?),
    };
    let unnumbered = matches!(peer, Peer::Link(_));
    Some(NeighborPlan {
        place: at.place,
        router: router.and_then(|router| router.name.get().cloned()),
        router_nth: found.map(|(nth, _)| nth),
        peer,
        asn: neighbor.asn.value().or_else(|| router?.asn.value()),
        bfd: bfd_of(
            &neighbor.bfd,
            unnumbered && router.is_none_or(|router| router.bfd.get() != Some(&Toggle::Off)),
        ),
        timers: neighbor.timers.get().map_or(TIMERS, |timers| (timers.0.value, timers.1.value)),
        passive: neighbor.passive.value().unwrap_or(false),
        password: neighbor.password.get().or_else(|| router?.password.get()).cloned(),
    })
}

/// The router a neighbour names, or else the one that has its address.
fn router_of<'c>(cluster: &'c Cluster, neighbor: &Neighbor) -> Option<(usize, &'c Router)> {
    let mut routers = cluster.routers().map(|router| &router.value).enumerate();
    match (neighbor.router.get(), neighbor.address.get()) {
        (Some(name), _) => routers.find(|(_, router)| router.name.get() == Some(name)),
        (None, Some(address)) => {
            routers.find(|(_, router)| router.addresses.values().any(|at| at == address))
        }
        (None, None) => None,
    }
}

/// Where no neighbours are written: the n-th port to the n-th leaf, and every gateway by its address.
fn from_fabric(cluster: &Cluster, ports: &[Port]) -> Vec<NeighborPlan> {
    let of_role = |role| {
        cluster
            .routers()
            .enumerate()
            .filter(move |(_, router)| router.value.role.value().unwrap_or(RouterRole::Leaf) == role)
    };
    let session = |nth: usize, router: &At<Router>, peer: Peer| NeighborPlan {
        place: router.place,
        router_nth: Some(nth),
        router: router.value.name.get().cloned(),
        bfd: bfd_of(&router.value.bfd, matches!(peer, Peer::Link(_))),
        peer,
        asn: router.value.asn.value(),
        timers: TIMERS,
        passive: false,
        password: router.value.password.get().cloned(),
    };
    let leafs = of_role(RouterRole::Leaf).zip(ports).map(|((nth, router), port)| {
        let address = router.value.addresses.get().and_then(|list| list.values().next().copied());
        session(nth, router, address.map_or_else(|| Peer::Link(port.name.clone()), Peer::Address))
    });
    let gateways = of_role(RouterRole::Gateway).filter_map(|(nth, router)| {
        let address = router.value.addresses.get()?.values().next().copied()?;
        Some(session(nth, router, Peer::Address(address)))
    });
    leafs.chain(gateways).collect()
}

/// What a workload's link is when nobody says otherwise.
struct Defaults {
    domain: &'static str,
    table: u32,
    names: (&'static str, &'static str),
    asn: (u32, u32),
}

fn defaults(speaker: Speaker, isolation: Isolation) -> Defaults {
    match (speaker, isolation) {
        (_, Isolation::Netns) => Defaults {
            domain: "metallb",
            table: 0,
            names: ("veth-a", "veth-b"),
            asn: (4_200_099_998, 4_200_099_999),
        },
        (Speaker::Cilium, _) => Defaults {
            domain: "cilium",
            table: 89,
            names: ("veth-frr", "veth-cilium"),
            asn: (4_200_099_998, 4_200_099_999),
        },
        _ => Defaults {
            domain: "metallb",
            table: 88,
            names: ("frr-metallb", "metallb-frr"),
            asn: (4_000_099_998, 4_000_099_999),
        },
    }
}

fn or<T: Copy>(key: Option<&Key<T>>, default: T, reason: &'static str) -> Decided<T> {
    match key.and_then(Key::at) {
        Some(at) => Decided::written(*at.value, at.place),
        None => Decided::default(default, reason),
    }
}

fn workload_plan(cluster: &Cluster, at: &At<&Workload>, gobgp: bool) -> Option<WorkloadPlan> {
    let workload = at.value;
    let speaker = workload.speaker.value().filter(|speaker| *speaker != Speaker::None)?;
    let isolation = if gobgp {
        or(Some(&workload.isolation), Isolation::None, "gobgpd listens in the default domain only")
    } else {
        or(Some(&workload.isolation), Isolation::Vrf, "what was shown to work on every other daemon")
    };
    let known = defaults(speaker, isolation.value);
    let vrf = workload.vrf.get();
    let domain = match isolation.value {
        Isolation::None => None,
        Isolation::Vrf => Some(match vrf.and_then(|vrf| vrf.name.at()) {
            Some(name) => Decided::written(name.value.to_string(), name.place),
            None => Decided::default(known.domain.to_owned(), "named after the speaker"),
        }),
        Isolation::Netns => Some(match workload.namespace.at() {
            Some(name) => Decided::written(name.value.to_string(), name.place),
            None => Decided::default(known.domain.to_owned(), "named after the speaker"),
        }),
    };
    let table = (isolation.value == Isolation::Vrf)
        .then(|| or(vrf.map(|vrf| &vrf.table), known.table, "the table of this speaker"));
    let asn = workload.asn.get();
    let link = workload.link.get();
    let addresses = link_addresses(cluster, workload, speaker, isolation.value);
    let v6 = addresses.as_ref().is_some_and(|(ours, _)| ours.value.is_ipv6());
    let names = link.and_then(|link| link.names.get());
    let name = |key: Option<&Key<ichor_values::LinkName>>, default: &str| {
        key.and_then(Key::get).map_or_else(|| default.to_owned(), ToString::to_string)
    };
    Some(WorkloadPlan {
        place: at.place,
        speaker,
        mode: workload.metallb.get().and_then(|metallb| metallb.mode.value()).unwrap_or(MetallbMode::FrrK8s),
        isolation,
        domain,
        table,
        link: addresses,
        prefix: link.and_then(|link| link.prefix.value()).unwrap_or(if v6 { 127 } else { 31 }),
        names: (
            name(names.map(|names| &names.ours), known.names.0),
            name(names.map(|names| &names.theirs), known.names.1),
        ),
        asn: (
            or(asn.map(|asn| &asn.ours), Asn(known.asn.0), "toward the speaker"),
            or(asn.map(|asn| &asn.theirs), Asn(known.asn.1), "the speaker's"),
        ),
        allow: allowed(cluster, workload, speaker),
    })
}

/// From the speaker: what is allowed, else the service pools for MetalLB and everything for Cilium.
fn allowed(cluster: &Cluster, workload: &Workload, speaker: Speaker) -> Vec<IpNet> {
    let written: Vec<_> = workload.allow.values().map(|prefix| prefix.0).collect();
    if !written.is_empty() || speaker == Speaker::Cilium {
        return written;
    }
    let services = cluster.network().and_then(|network| network.services.get());
    let pools = services.and_then(|services| services.pools.get()).into_iter().flat_map(|pools| pools.iter());
    pools.flat_map(|(_, prefixes)| prefixes.value.values().map(|prefix| prefix.0)).collect()
}

type Ends = (Decided<IpAddr>, Decided<IpAddr>);

fn link_addresses(
    cluster: &Cluster,
    workload: &Workload,
    speaker: Speaker,
    isolation: Isolation,
) -> Option<Ends> {
    let written = |key: &Key<IpAddr>| key.at().map(|at| Decided::written(*at.value, at.place));
    let link = workload.link.get();
    let ours = link.and_then(|link| written(&link.ours));
    let theirs = link.and_then(|link| written(&link.theirs));
    let (default_ours, default_theirs) = match (speaker, isolation) {
        (_, Isolation::Netns) => fixed("192.168.250.254", "192.168.250.255"),
        (Speaker::Cilium, _) => match cluster.id().map(|id| (id, derive::cilium_link(*id.value))) {
            Some((id, Ok((ours, theirs)))) => {
                let end = |address| Decided::derived(IpAddr::V6(address), Rule::CiliumLink, Some(id.place));
                (Some(end(ours)), Some(end(theirs)))
            }
            _ => (None, None),
        },
        _ => fixed("fda1:b2c3:d4e5:1::", "fda1:b2c3:d4e5:1::1"),
    };
    Some((ours.or(default_ours)?, theirs.or(default_theirs)?))
}

fn fixed(ours: &str, theirs: &str) -> (Option<Decided<IpAddr>>, Option<Decided<IpAddr>>) {
    let end = |text: &str| {
        Some(Decided::default(
            text.parse().expect("an address"),
            "the same on every node: it never leaves it",
        ))
    };
    (end(ours), end(theirs))
}
