//! The session with the speaker of service addresses, and the link to it.

use std::net::IpAddr;

use ipnet::IpNet;

use super::derive::{self, Derivation};
use super::{BfdPlan, Decided, LinkPlan, NeighborAddress, NodePlan};
use crate::cluster::section::{Metallb, Vrf, Workload, WorkloadAsn, WorkloadLink, WorkloadNames};
use crate::model::Cluster;
use ichor_bgp::setting::{Isolation, MetallbMode, Speaker};
use ichor_values::Location;
use ichor_values::key::{Key, List, Map, Spanned};
use ichor_values::{Asn, Mtu, Prefix, Word};

/// The speaker of service addresses and the link to it.
#[derive(Clone, Debug)]
pub struct WorkloadPlan {
    /// Its place in the file.
    pub place: Location,
    /// Software that announces service addresses.
    pub speaker: Speaker,
    /// BGP implementation of MetalLB.
    pub mode: Decided<MetallbMode>,
    /// Isolation of its routes from the node's.
    pub isolation: Decided<Isolation>,
    /// VRF or namespace; none without isolation.
    pub domain: Option<Decided<String>>,
    /// Table of the VRF.
    pub table: Option<Decided<u32>>,
    /// Addresses of the link: ours and theirs; none if they cannot be derived.
    pub link: Option<(Decided<IpAddr>, Decided<IpAddr>)>,
    /// Its prefix length.
    pub prefix: Decided<u8>,
    /// Names of its ends: ours and theirs.
    pub names: (Decided<String>, Decided<String>),
    /// Its MTU; the default is that of the first port toward the fabric.
    pub mtu: Option<Decided<Mtu>>,
    /// AS numbers: ours and theirs.
    pub asn: (Decided<Asn>, Decided<Asn>),
    /// BFD.
    pub bfd: Option<BfdPlan>,
    /// Prefixes accepted from the speaker; empty means everything.
    pub allow: Decided<Vec<IpNet>>,
}

impl WorkloadPlan {
    /// Whether routes of any length inside its prefixes are accepted, not only host routes.
    pub(crate) fn accepts_subnets(&self) -> bool {
        self.speaker == Speaker::Cilium || self.allow.is_written()
    }
}

/// Defaults of the link to a speaker.
struct SpeakerDefaults {
    domain: &'static str,
    table: u32,
    names: (&'static str, &'static str),
    asn: (u32, u32),
}

fn speaker_defaults(speaker: Speaker, isolation: Isolation) -> SpeakerDefaults {
    match (speaker, isolation) {
        (_, Isolation::Netns) => SpeakerDefaults {
            domain: "metallb",
            table: 0,
            names: ("veth-a", "veth-b"),
            asn: (4_200_099_998, 4_200_099_999),
        },
        (Speaker::Cilium, _) => SpeakerDefaults {
            domain: "cilium",
            table: 89,
            names: ("veth-frr", "veth-cilium"),
            asn: (4_200_099_998, 4_200_099_999),
        },
        _ => SpeakerDefaults {
            domain: "metallb",
            table: 88,
            names: ("frr-metallb", "metallb-frr"),
            asn: (4_000_099_998, 4_000_099_999),
        },
    }
}

/// Decides the settings of the speaker, if there is one. `gobgp` is whether the file sets that backend.
pub fn plan(cluster: &Cluster, at: &Spanned<&Workload>, gobgp: bool) -> Option<WorkloadPlan> {
    let workload = at.value;
    let speaker = workload.speaker.value().filter(|speaker| *speaker != Speaker::None)?;
    let isolation = if gobgp {
        Decided::from_key_or(&workload.isolation, Isolation::None, "gobgpd listens in the default VRF only")
    } else {
        Decided::from_key_or(&workload.isolation, Isolation::Vrf, "works with every other daemon")
    };
    let known = speaker_defaults(speaker, isolation.value);
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
            Decided::text_or(&names.ours, known.names.0, "named after both ends"),
            Decided::text_or(&names.theirs, known.names.1, "named after both ends"),
        ),
        mtu: mtu(link, isolation.value),
        isolation,
        asn: (
            Decided::from_key_or(&asn.ours, Asn(known.asn.0), "the AS number toward the speaker"),
            Decided::from_key_or(&asn.theirs, Asn(known.asn.1), "the speaker's AS number"),
        ),
        bfd: BfdPlan::decide(&workload.bfd, false),
        allow: accepted_prefixes(cluster, workload, speaker),
    })
}

fn mode(workload: &Workload) -> Decided<MetallbMode> {
    let none = Metallb::default();
    let Metallb { mode, version: _ } = workload.metallb.get().unwrap_or(&none);
    Decided::from_key_or(mode, MetallbMode::FrrK8s, "MetalLB's default")
}

/// The VRF or namespace, and the table of a VRF.
fn domain(
    workload: &Workload,
    isolation: Isolation,
    known: &SpeakerDefaults,
) -> (Option<Decided<String>>, Option<Decided<u32>>) {
    const REASON: &str = "named after the speaker";
    let none = Vrf::default();
    let Vrf { name, table } = workload.vrf.get().unwrap_or(&none);
    match isolation {
        Isolation::None => (None, None),
        Isolation::Netns => (Some(Decided::text_or(&workload.namespace, known.domain, REASON)), None),
        Isolation::Vrf => (
            Some(Decided::text_or(name, known.domain, REASON)),
            Some(Decided::from_key_or(table, known.table, "the speaker's default table")),
        ),
    }
}

fn prefix(link: &WorkloadLink, v6: bool) -> Decided<u8> {
    Decided::from_key_or(&link.prefix, if v6 { 127 } else { 31 }, "room for two addresses")
}

fn mtu(link: &WorkloadLink, isolation: Isolation) -> Option<Decided<Mtu>> {
    let netns_mtu = || Decided::default(Mtu(1500), "the link never leaves the node");
    Decided::from_key(&link.mtu).or_else(|| (isolation == Isolation::Netns).then(netns_mtu))
}

/// The prefixes accepted from the speaker: `allow`, else the service pools for MetalLB and everything for Cilium.
fn accepted_prefixes(cluster: &Cluster, workload: &Workload, speaker: Speaker) -> Decided<Vec<IpNet>> {
    if let Some(at) = workload.allow.at().filter(|at| !at.value.0.is_empty()) {
        return Decided::written(at.value.values().map(|prefix| prefix.0).collect(), at.place);
    }
    let services = cluster.network().map(|network| &network.services).filter(|_| speaker != Speaker::Cilium);
    let pools = services.and_then(Key::get).and_then(|services| services.pools.at());
    let nets = |pools: Spanned<&PoolMap>| -> Vec<IpNet> {
        pools.value.iter().flat_map(|(_, prefixes)| prefixes.value.values().map(|prefix| prefix.0)).collect()
    };
    match pools.map(|pools| (nets(pools), pools.place)) {
        Some((nets, place)) if !nets.is_empty() => {
            Decided::derived(nets, Derivation::ServicePools, Some(place))
        }
        _ => Decided::default(Vec::new(), "everything the speaker announces"),
    }
}

type PoolMap = Map<Word, List<Prefix>>;

type LinkAddresses = (Decided<IpAddr>, Decided<IpAddr>);

fn link_addresses(
    cluster: &Cluster,
    link: &WorkloadLink,
    speaker: Speaker,
    isolation: Isolation,
) -> Option<LinkAddresses> {
    let (ours, theirs) = (Decided::from_key(&link.ours), Decided::from_key(&link.theirs));
    let (default_ours, default_theirs) = match (speaker, isolation) {
        (_, Isolation::Netns) => fixed_addresses("192.168.250.254", "192.168.250.255"),
        (Speaker::Cilium, _) => match cluster.id().map(|id| (id, derive::cilium_link(*id.value))) {
            Some((id, Ok((ours, theirs)))) => {
                let end =
                    |address| Decided::derived(IpAddr::V6(address), Derivation::CiliumLink, Some(id.place));
                (Some(end(ours)), Some(end(theirs)))
            }
            _ => (None, None),
        },
        _ => fixed_addresses("fda1:b2c3:d4e5:1::", "fda1:b2c3:d4e5:1::1"),
    };
    Some((ours.or(default_ours)?, theirs.or(default_theirs)?))
}

fn fixed_addresses(ours: &str, theirs: &str) -> (Option<Decided<IpAddr>>, Option<Decided<IpAddr>>) {
    let end = |text: &str| {
        Some(Decided::default(
            text.parse().expect("an address"),
            "the same on every node, because the link never leaves it",
        ))
    };
    (end(ours), end(theirs))
}

impl NodePlan {
    /// The MTU of its link to the speaker: as decided, else that of the first port toward the fabric among `links`.
    pub(crate) fn speaker_mtu(&self, links: &[LinkPlan]) -> Option<Mtu> {
        let routing = self.routing.as_deref()?;
        let decided = routing.workload.as_ref().and_then(|workload| workload.mtu.as_ref());
        let port = routing.neighbors.iter().find_map(|neighbor| match &neighbor.peer {
            NeighborAddress::Link(name) => Some(name),
            NeighborAddress::Address(_) => None,
        });
        let port = port.unwrap_or(&self.link.value);
        let of_port = || links.iter().find(|link| link.name == *port)?.mtu;
        decided.map(|mtu| mtu.value).or_else(of_port)
    }
}
