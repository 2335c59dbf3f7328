//! Destinations: prefixes and the nodes that originate them.

use std::collections::BTreeMap;
use std::fmt;

use ipnet::IpNet;

use super::aggregate;
use super::failure::Failure;
use super::graph::Graph;
use crate::plan::Plan;
use crate::routing::BgpTopology;
use ichor_bgp::model::{Family, Workload};
use ichor_bgp::setting::Advertise;

/// Kind of address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DestinationKind {
    /// Of a node's loopback.
    Loopback,
    /// Of a node's dummy link.
    Dummy,
    /// Of the API, on several nodes.
    Anycast,
    /// Of a pool of service addresses, represented by one of them.
    Service(String),
    /// An aggregate.
    Aggregate,
}

impl DestinationKind {
    /// The kind as a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Dummy => "dummy",
            Self::Anycast => "anycast",
            Self::Service(_) => "service",
            Self::Aggregate => "aggregate",
        }
    }

    /// The pool of a service address.
    pub fn pool(&self) -> Option<&str> {
        match self {
            Self::Service(pool) => Some(pool),
            _ => None,
        }
    }
}

impl fmt::Display for DestinationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        self.pool().map_or(Ok(()), |pool| write!(f, " {pool}"))
    }
}

/// The source of a destination on its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouteSource {
    /// An address of the node, or an aggregate with one among its parts.
    Own,
    /// Its speaker, which has this AS number.
    Speaker(u32),
    /// An aggregate of its speaker's routes.
    SpeakersParts,
    /// An aggregate of other nodes' routes.
    OthersParts,
}

/// Why no node originates a service address, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AbsenceReason {
    /// No speaker has a working session.
    NoSession,
    /// No working session with a speaker carries the family.
    Family,
    /// No filter accepts it.
    Filter,
}

/// A node that originates a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Originator {
    /// The node.
    pub vertex: u32,
    /// The source.
    pub source: RouteSource,
    /// Whether it does not announce it, because an aggregate covers it.
    pub aggregated: bool,
}

impl Originator {
    /// Whether it depends on the node's speaker.
    pub(crate) fn needs_speaker(&self) -> bool {
        matches!(self.source, RouteSource::Speaker(_) | RouteSource::SpeakersParts)
    }
}

/// Prefixes that propagate identically.
#[derive(Clone, Debug)]
pub struct Destination {
    /// Kind of the prefixes.
    pub kind: DestinationKind,
    /// The prefixes.
    pub nets: Vec<IpNet>,
    /// Their family; where every session carries both, that of the first.
    pub family: Family,
    /// The nodes that originate them.
    pub origins: Vec<Originator>,
    /// Why no node does, if so.
    pub absence: Option<AbsenceReason>,
    /// For each import filter of the graph, whether it accepts them.
    pub(crate) passes: Vec<bool>,
}

impl Destination {
    /// The family of the prefixes.
    pub fn family(&self) -> Family {
        self.nets.first().map_or(self.family, |net| Family::of(*net))
    }

    /// Whether every origin announces an aggregate instead.
    pub(crate) fn is_hidden(&self) -> bool {
        !self.origins.is_empty() && self.origins.iter().all(|origin| origin.aggregated)
    }

    /// Whether a failure can affect it.
    pub fn notices(&self, failure: Failure) -> bool {
        match failure {
            Failure::Vertex(_) | Failure::Link(_) | Failure::Between(..) => true,
            Failure::Speaker(node) => {
                self.origins.iter().any(|origin| origin.needs_speaker() && origin.vertex == node)
            }
        }
    }
}

/// All destinations of a topology; `serves` returns whether the session with a node's speaker works.
pub(crate) fn destinations(
    graph: &Graph,
    network: &BgpTopology,
    plan: &Plan,
    serves: impl Fn(usize) -> bool,
) -> Vec<Destination> {
    let mut found = DestinationTable::default();
    for (vertex, model) in (0..).zip(&network.nodes) {
        for announced in &model.fabric.announced {
            let kind = match announced.kind {
                Advertise::Loopback => DestinationKind::Loopback,
                Advertise::Dummy => DestinationKind::Dummy,
                Advertise::Anycast => DestinationKind::Anycast,
            };
            let aggregated = aggregate::is_covered(model, announced.net);
            found.add(kind, announced.net, Originator { vertex, source: RouteSource::Own, aggregated });
        }
    }
    found.add_services(network, plan, serves);
    let parts = found.group_identical(graph);
    let aggregates = aggregate::aggregate_origins(graph, network, &parts);
    if aggregates.is_empty() {
        return parts;
    }
    for (net, origin) in aggregates {
        found.add(DestinationKind::Aggregate, net, origin);
    }
    found.group_identical(graph)
}

/// Originating nodes by kind and prefix.
#[derive(Default)]
struct DestinationTable(BTreeMap<(DestinationKind, IpNet), OriginatorList>);

/// The originating nodes of a prefix, or why it has no origin.
#[derive(Default)]
struct OriginatorList {
    origins: Vec<Originator>,
    absence: Option<AbsenceReason>,
}

impl DestinationTable {
    fn add(&mut self, kind: DestinationKind, net: IpNet, origin: Originator) {
        self.0.entry((kind, net)).or_default().origins.push(origin);
    }

    /// Adds one address of each pool, from every node whose speaker may announce it.
    fn add_services(&mut self, network: &BgpTopology, plan: &Plan, serves: impl Fn(usize) -> bool) {
        if network.nodes.iter().all(|model| model.workload.is_none()) {
            return;
        }
        for (pool, prefixes) in &plan.cluster.pools {
            for net in prefixes.iter().map(|prefix| representative(prefix.value)) {
                let found = self.0.entry((DestinationKind::Service(pool.to_string()), net)).or_default();
                for (model, vertex) in network.nodes.iter().zip(0..) {
                    let working = model.workload.as_ref().filter(|_| serves(vertex as usize));
                    match working
                        .ok_or(AbsenceReason::NoSession)
                        .and_then(|workload| accepted_asn(workload, net))
                    {
                        Ok(asn) => {
                            let aggregated = aggregate::is_covered(model, net);
                            found.origins.push(Originator {
                                vertex,
                                source: RouteSource::Speaker(asn),
                                aggregated,
                            });
                        }
                        Err(absence) => found.absence = found.absence.max(Some(absence)),
                    }
                }
            }
        }
    }

    /// Groups prefixes that propagate identically, such as the loopback addresses of a node.
    fn group_identical(&self, graph: &Graph) -> Vec<Destination> {
        let same = graph.is_alike_for_both_families();
        let mut known: BTreeMap<_, usize> = BTreeMap::new();
        let mut all: Vec<Destination> = Vec::new();
        for ((kind, net), OriginatorList { origins, absence }) in &self.0 {
            let absence = absence.filter(|_| origins.is_empty());
            let family = if same { Family::V4 } else { Family::of(*net) };
            let passes: Vec<bool> = graph.import_filters.iter().map(|filter| filter.admits(*net)).collect();
            let key = (kind, origins, absence, passes.clone(), family);
            let nth = *known.entry(key).or_insert(all.len());
            if nth == all.len() {
                let (kind, origins) = (kind.clone(), origins.clone());
                all.push(Destination { kind, nets: Vec::new(), family, origins, absence, passes });
            }
            all[nth].nets.push(*net);
        }
        all
    }
}

/// The AS number of a speaker, if the node accepts this prefix from it.
pub fn accepted_asn(workload: &Workload, net: IpNet) -> Result<u32, AbsenceReason> {
    if !workload.families.contains(&Family::of(net)) {
        return Err(AbsenceReason::Family);
    }
    if !workload.filter.admits(net) {
        return Err(AbsenceReason::Filter);
    }
    Ok(workload.theirs.asn.0)
}

/// The address that represents a pool: the first, for IPv6 the second, because the first is the subnet-router anycast address.
pub(crate) fn representative(pool: IpNet) -> IpNet {
    let mut hosts = pool.hosts();
    let first = hosts.next();
    let second = if pool.addr().is_ipv6() { hosts.next() } else { None };
    IpNet::from(second.or(first).unwrap_or(pool.addr()))
}
