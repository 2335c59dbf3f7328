//! What nodes are connected to: the routers of the file, other neighbours, shared networks and overlays.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::cables::Cables;
use super::facts::{network_hub, overlay_hub, router_hub};
use crate::cluster::section::{RouterRole, Tailscale};
use crate::cluster::value::Asn;
use crate::model::Cluster;
use crate::plan::{NeighborPlan, Peer};
use crate::render::topology::scene::{Cable, Fact, Hub, HubKind};

/// More hubs of one kind than this are drawn as one.
const MOST: usize = 12;
/// More bars than this are drawn as one.
const MOST_BANDS: usize = 4;

/// What makes two hubs the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'a> {
    Router(&'a str),
    Address(IpAddr, Option<u32>),
    Link(&'a str, Option<u32>),
    Network(Network),
    Overlay(Option<&'a str>),
}

/// A network that nodes share.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network {
    pub v4: Option<ipnet::Ipv4Net>,
    pub v6: Option<ipnet::Ipv6Net>,
    pub gateway: [Option<IpAddr>; 2],
    pub dhcp: bool,
}

/// The hubs found so far.
pub struct Hubs<'a> {
    known: BTreeMap<Key<'a>, usize>,
    /// Routers by their addresses, for neighbours that name only one.
    addresses: BTreeMap<IpAddr, usize>,
    found: Vec<(Hub, Option<u32>)>,
}

impl<'a> Hubs<'a> {
    /// The routers of the file.
    pub fn of(cluster: &'a Cluster) -> Self {
        let mut hubs = Self { known: BTreeMap::new(), addresses: BTreeMap::new(), found: Vec::new() };
        for router in cluster.routers().map(|router| &router.value) {
            let name = router.name.get().map_or("", |name| name.as_str());
            let asn = router.asn.value().map(|asn| asn.0);
            let hub = hubs.insert(Key::Router(name), || (router_hub(router), asn));
            hubs.addresses.extend(router.addresses.values().map(|address| (*address, hub)));
        }
        hubs
    }

    fn insert(&mut self, key: Key<'a>, make: impl FnOnce() -> (Hub, Option<u32>)) -> usize {
        *self.known.entry(key).or_insert_with(|| {
            self.found.push(make());
            self.found.len() - 1
        })
    }

    /// The router called `name`.
    pub fn router(&self, name: &str) -> Option<usize> {
        self.known.get(&Key::Router(name)).copied()
    }

    /// The far end of a session.
    pub fn neighbor(&mut self, neighbor: &'a NeighborPlan) -> usize {
        if let Some(known) = neighbor.router.as_ref().and_then(|name| self.router(name.as_str())) {
            return known;
        }
        let asn = neighbor.asn.map(|Asn(asn)| asn);
        let facts =
            vec![Fact::new("AS", asn.map_or_else(|| "any external".to_owned(), |asn| asn.to_string()))];
        let make = |name: String| (Hub { kind: HubKind::Neighbor, name, facts, count: 1 }, asn);
        match &neighbor.peer {
            Peer::Address(address) => match self.addresses.get(address) {
                Some(router) => *router,
                None => self.insert(Key::Address(*address, asn), || make(address.to_string())),
            },
            Peer::Link(link) => {
                self.insert(Key::Link(link.as_str(), asn), || make(format!("on {}", link.as_str())))
            }
        }
    }

    pub fn network(&mut self, network: Network) -> usize {
        self.insert(Key::Network(network), || (network_hub(&network), None))
    }

    pub fn overlay(&mut self, tailscale: &'a Tailscale, prefix: Option<String>) -> usize {
        let server = tailscale.server.get().map(|server| server.as_str());
        self.insert(Key::Overlay(server), || (overlay_hub(tailscale, prefix), None))
    }

    /// All hubs from top to bottom, where each one went, and the cables between routers.
    pub fn settle(self, cables: &Cables<'_>) -> (Vec<Hub>, Vec<usize>, Vec<Cable>) {
        let pairs = self.pairs(cables);
        let mut by_kind: BTreeMap<HubKind, Vec<usize>> = BTreeMap::new();
        for (nth, (hub, _)) in self.found.iter().enumerate() {
            by_kind.entry(hub.kind).or_default().push(nth);
        }
        let mut found: Vec<_> = self.found.into_iter().map(Some).collect();
        let mut moved = vec![0; found.len()];
        let mut hubs = Vec::new();
        for (kind, members) in by_kind {
            let most = if kind.is_band() { MOST_BANDS } else { MOST };
            let mut taken = members.iter().map(|nth| found[*nth].take().expect("each is of one kind"));
            let first = hubs.len();
            if members.len() > most {
                hubs.push(one_for_all(kind, &taken.collect::<Vec<_>>()));
                members.iter().for_each(|nth| moved[*nth] = first);
            } else {
                members.iter().enumerate().for_each(|(place, nth)| moved[*nth] = first + place);
                hubs.extend(taken.by_ref().map(|(hub, _)| hub));
            }
        }
        (hubs, moved.clone(), joined(pairs, &moved))
    }

    /// The routers that are connected: as the file lists it, else every leaf with every spine.
    fn pairs(&self, cables: &Cables<'_>) -> Vec<(usize, usize, String)> {
        if !cables.routers.is_empty() {
            let listed = cables.routers.iter().filter_map(|(one, other)| {
                let ends = (self.router(one.0)?, self.router(other.0)?);
                Some((ends.0, ends.1, format!("{} {} – {} {}", one.0, one.1, other.0, other.1)))
            });
            return listed.collect();
        }
        let of = |kind| self.found.iter().enumerate().filter(move |(_, (hub, _))| hub.kind == kind);
        let detail = |leaf: &Hub, spine: &Hub| format!("{} – {}", leaf.name, spine.name);
        of(HubKind::Leaf)
            .flat_map(|(leaf, (one, _))| {
                of(HubKind::Spine).map(move |(spine, (other, _))| (leaf, spine, detail(one, other)))
            })
            .collect()
    }
}

/// What a role is called in the picture.
pub fn kind(role: Option<RouterRole>) -> HubKind {
    match role.unwrap_or(RouterRole::Leaf) {
        RouterRole::Leaf => HubKind::Leaf,
        RouterRole::Spine => HubKind::Spine,
        RouterRole::Gateway => HubKind::Gateway,
    }
}

fn one_for_all(kind: HubKind, members: &[(Hub, Option<u32>)]) -> Hub {
    let names = format!("{} … {}", members[0].0.name, members[members.len() - 1].0.name);
    let numbers = || members.iter().filter_map(|(_, asn)| *asn);
    let mut facts = vec![Fact::new("", names)];
    if let (Some(least), Some(most)) = (numbers().min(), numbers().max()) {
        let range = if least == most { least.to_string() } else { format!("{least} … {most}") };
        facts.push(Fact::new("AS", range));
    }
    Hub { kind, name: format!("{} {}s", members.len(), kind.word()), facts, count: members.len() }
}

/// One cable for all between the same two hubs.
fn joined(pairs: Vec<(usize, usize, String)>, moved: &[usize]) -> Vec<Cable> {
    let mut between: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for (one, other, detail) in pairs {
        let ends = (moved[one], moved[other]);
        if ends.0 != ends.1 {
            between.entry((ends.0.min(ends.1), ends.0.max(ends.1))).or_default().push(detail);
        }
    }
    let detail =
        |all: Vec<String>| if all.len() > MOST { format!("{} cables", all.len()) } else { all.join("\n") };
    between.into_iter().map(|(ends, all)| Cable { ends, detail: detail(all) }).collect()
}
