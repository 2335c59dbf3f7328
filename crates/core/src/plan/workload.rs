//! The session with the speaker of service addresses, and the link to it.

use std::net::IpAddr;

use ipnet::IpNet;

use super::derive::{self, Rule};
use super::{BfdPlan, Decided, LinkPlan, NodePlan, Peer};
use crate::cluster::section::{Metallb, Vrf, Workload, WorkloadAsn, WorkloadLink, WorkloadNames};
use crate::model::Cluster;
use ichor_bgp::setting::{Isolation, MetallbMode, Speaker};
use ichor_values::Place;
use ichor_values::key::{At, Key, List, Map};
use ichor_values::{Asn, Mtu, Prefix, Word};

/// The speaker of service addresses and the link to it.
#[derive(Clone, Debug)]
pub struct WorkloadPlan {
    /// Where it stands in the file.
    pub place: Place,
    /// Who announces service addresses.
    pub speaker: Speaker,
    /// How MetalLB speaks BGP.
    pub mode: Decided<MetallbMode>,
    /// What keeps its routes apart.
    pub isolation: Decided<Isolation>,
    /// VRF or namespace, unless there is no isolation.
    pub domain: Option<Decided<String>>,
    /// Table of the VRF.
    pub table: Option<Decided<u32>>,
    /// Addresses of the link: ours and theirs; none where they could not be derived.
    pub link: Option<(Decided<IpAddr>, Decided<IpAddr>)>,
    /// Its prefix length.
    pub prefix: Decided<u8>,
    /// Names of its ends: ours and theirs.
    pub names: (Decided<String>, Decided<String>),
    /// Its MTU; that of the first port toward the fabric where there is none here.
    pub mtu: Option<Decided<Mtu>>,
    /// AS numbers: ours and theirs.
    pub asn: (Decided<Asn>, Decided<Asn>),
    /// Fast detection of a dead path.
    pub bfd: Option<BfdPlan>,
    /// Prefixes taken from the speaker; empty means everything.
    pub allow: Decided<Vec<IpNet>>,
}

impl WorkloadPlan {
    /// Whether routes inside its prefixes are taken in every length, and not those of single addresses alone.
    pub(crate) fn takes_parts(&self) -> bool {
        self.speaker == Speaker::Cilium || self.allow.is_written()
    }
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

/// Decides everything about the speaker; none where there is none. `gobgp` is whether the file names that backend.
pub fn plan(cluster: &Cluster, at: &At<&Workload>, gobgp: bool) -> Option<WorkloadPlan> {
    let workload = at.value;
    let speaker = workload.speaker.value().filter(|speaker| *speaker != Speaker::None)?;
    let isolation = if gobgp {
        Decided::or(&workload.isolation, Isolation::None, "gobgpd listens in the default domain only")
    } else {
        Decided::or(&workload.isolation, Isolation::Vrf, "what was shown to work on every other daemon")
    };
    let known = defaults(speaker, isolation.value);
    let none = (WorkloadAsn::default(), WorkloadLink::default(), WorkloadNames::default());
    let asn = workload.asn.get().unwrap_or(&none.0);
    let link = workload.link.get().unwrap_or(&none.1);
    let names = link.names.get().unwrap_or(&none.2);
    let addresses = link_addresses(cluster, link, speaker, isolation.value);
    let (domain, table) = domain(workload, isolation.value, &known);
    Some(WorkloadPlan {
        place: at.place,
        speaker,
        mode: mode(workload),
        domain,
        table,
        prefix: prefix(link, addresses.as_ref().is_some_and(|(ours, _)| ours.value.is_ipv6())),
        link: addresses,
        names: (
            Decided::text(&names.ours, known.names.0, "named after both ends"),
            Decided::text(&names.theirs, known.names.1, "named after both ends"),
        ),
        mtu: mtu(link, isolation.value),
        isolation,
        asn: (
            Decided::or(&asn.ours, Asn(known.asn.0), "toward the speaker"),
            Decided::or(&asn.theirs, Asn(known.asn.1), "the speaker's"),
        ),
        bfd: BfdPlan::decide(&workload.bfd, false),
        allow: allowed(cluster, workload, speaker),
    })
}

fn mode(workload: &Workload) -> Decided<MetallbMode> {
    let none = Metallb::default();
    let Metallb { mode } = workload.metallb.get().unwrap_or(&none);
    Decided::or(mode, MetallbMode::FrrK8s, "what MetalLB itself begins with")
}

/// The VRF or namespace, and the table of a VRF.
fn domain(
    workload: &Workload,
    isolation: Isolation,
    known: &Defaults,
) -> (Option<Decided<String>>, Option<Decided<u32>>) {
    const REASON: &str = "named after the speaker";
    let none = Vrf::default();
    let Vrf { name, table } = workload.vrf.get().unwrap_or(&none);
    match isolation {
        Isolation::None => (None, None),
        Isolation::Netns => (Some(Decided::text(&workload.namespace, known.domain, REASON)), None),
        Isolation::Vrf => (
            Some(Decided::text(name, known.domain, REASON)),
            Some(Decided::or(table, known.table, "the table of this speaker")),
        ),
    }
}

fn prefix(link: &WorkloadLink, v6: bool) -> Decided<u8> {
    Decided::or(&link.prefix, if v6 { 127 } else { 31 }, "room for two addresses")
}

fn mtu(link: &WorkloadLink, isolation: Isolation) -> Option<Decided<Mtu>> {
    let apart = || Decided::default(Mtu(1500), "a link into a namespace carries no fabric's frames");
    Decided::of(&link.mtu).or_else(|| (isolation == Isolation::Netns).then(apart))
}

/// From the speaker: what is allowed, else the service pools for MetalLB and everything for Cilium.
fn allowed(cluster: &Cluster, workload: &Workload, speaker: Speaker) -> Decided<Vec<IpNet>> {
    if let Some(at) = workload.allow.at().filter(|at| !at.value.0.is_empty()) {
        return Decided::written(at.value.values().map(|prefix| prefix.0).collect(), at.place);
    }
    let services = cluster.network().map(|network| &network.services).filter(|_| speaker != Speaker::Cilium);
    let pools = services.and_then(Key::get).and_then(|services| services.pools.at());
    let nets = |pools: At<&Pools>| -> Vec<IpNet> {
        pools.value.iter().flat_map(|(_, prefixes)| prefixes.value.values().map(|prefix| prefix.0)).collect()
    };
    match pools.map(|pools| (nets(pools), pools.place)) {
        Some((nets, place)) if !nets.is_empty() => Decided::derived(nets, Rule::ServicePools, Some(place)),
        _ => Decided::default(Vec::new(), "everything the speaker has"),
    }
}

type Pools = Map<Word, List<Prefix>>;

type Ends = (Decided<IpAddr>, Decided<IpAddr>);

fn link_addresses(
    cluster: &Cluster,
    link: &WorkloadLink,
    speaker: Speaker,
    isolation: Isolation,
) -> Option<Ends> {
    let (ours, theirs) = (Decided::of(&link.ours), Decided::of(&link.theirs));
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

impl NodePlan {
    /// The MTU of its link to the speaker: decided, or else that of the first port toward the fabric among `links`.
    pub(crate) fn speaker_mtu(&self, links: &[LinkPlan]) -> Option<Mtu> {
        let routing = self.routing.as_deref()?;
        let decided = routing.workload.as_ref().and_then(|workload| workload.mtu.as_ref());
        let port = routing.neighbors.iter().find_map(|neighbor| match &neighbor.peer {
            Peer::Link(name) => Some(name),
            Peer::Address(_) => None,
        });
        let port = port.unwrap_or(&self.link.value);
        let of_port = || links.iter().find(|link| link.name == *port)?.mtu;
        decided.map(|mtu| mtu.value).or_else(of_port)
    }
}
