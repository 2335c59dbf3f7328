//! What shall be reached: addresses, and who has them to give.

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

/// What kind of address it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DestinationKind {
    /// Of a node's loopback.
    Loopback,
    /// Of a node's dummy link.
    Dummy,
    /// Of the API, on several nodes.
    Anycast,
    /// Of a pool of service addresses: one of them stands for all.
    Service(String),
    /// A prefix in place of its parts.
    Aggregate,
}

impl fmt::Display for DestinationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => f.write_str("loopback"),
            Self::Dummy => f.write_str("dummy"),
            Self::Anycast => f.write_str("anycast"),
            Self::Service(pool) => write!(f, "service {pool}"),
            Self::Aggregate => f.write_str("aggregate"),
        }
    }
}

/// Where a node has a destination from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouteSource {
    /// An address of the node, or an aggregate with one among its parts.
    Own,
    /// Its speaker, which has this AS number.
    Speaker(u32),
    /// An aggregate, of parts that its speaker announces.
    SpeakersParts,
    /// An aggregate, of parts that others announce.
    OthersParts,
}

/// Why nobody has a service address to give, from the first hurdle to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AbsenceReason {
    /// No speaker is heard.
    Unheard,
    /// No session with a speaker that is heard carries the family.
    Family,
    /// No filter takes it.
    Filter,
}

/// Who has a destination to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Originator {
    /// The node.
    pub vertex: u32,
    /// Where it has it from.
    pub source: RouteSource,
    /// Whether it keeps it to itself: an aggregate stands in for it.
    pub silent: bool,
}

impl Originator {
    /// Whether it is gone with the node's speaker.
    pub(crate) fn needs_speaker(&self) -> bool {
        matches!(self.source, RouteSource::Speaker(_) | RouteSource::SpeakersParts)
    }
}

/// Prefixes that spread alike.
#[derive(Clone, Debug)]
pub struct Destination {
    /// What kind they are.
    pub kind: DestinationKind,
    /// The prefixes.
    pub nets: Vec<IpNet>,
    /// Their family; where every session carries both, that of the first.
    pub family: Family,
    /// Who has them to give.
    pub origins: Vec<Originator>,
    /// Why nobody has, where that is so.
    pub absence: Option<AbsenceReason>,
    /// Which of the graph's gates let them through.
    pub(crate) passes: Vec<bool>,
}

impl Destination {
    /// The family of the prefixes.
    pub fn family(&self) -> Family {
        self.nets.first().map_or(self.family, |net| Family::of(*net))
    }

    /// Whether an aggregate stands in for it everywhere.
    pub(crate) fn is_hidden(&self) -> bool {
        !self.origins.is_empty() && self.origins.iter().all(|origin| origin.silent)
    }

    /// Whether a failure can matter to it.
    pub fn notices(&self, failure: Failure) -> bool {
        match failure {
            Failure::Vertex(_) | Failure::Link(_) | Failure::Between(..) => true,
            Failure::Speaker(node) => {
                self.origins.iter().any(|origin| origin.needs_speaker() && origin.vertex == node)
            }
        }
    }
}

/// Everything that shall be reached in a network. `serves` says of a node whether its speaker's session works.
pub(crate) fn all(
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
            let silent = aggregate::is_covered(model, announced.net);
            found.add(kind, announced.net, Originator { vertex, source: RouteSource::Own, silent });
        }
    }
    found.services(network, plan, serves);
    let parts = found.alike(graph);
    let aggregates = aggregate::all(graph, network, &parts);
    if aggregates.is_empty() {
        return parts;
    }
    for (net, origin) in aggregates {
        found.add(DestinationKind::Aggregate, net, origin);
    }
    found.alike(graph)
}

/// Who has them to give, by kind and prefix.
#[derive(Default)]
struct DestinationTable(BTreeMap<(DestinationKind, IpNet), OriginatorList>);

/// Who has a prefix to give, and what keeps others from it.
#[derive(Default)]
struct OriginatorList {
    origins: Vec<Originator>,
    absence: Option<AbsenceReason>,
}

impl DestinationTable {
    fn add(&mut self, kind: DestinationKind, net: IpNet, origin: Originator) {
        self.0.entry((kind, net)).or_default().origins.push(origin);
    }

    /// One address of each pool, from every node whose speaker may announce it.
    fn services(&mut self, network: &BgpTopology, plan: &Plan, serves: impl Fn(usize) -> bool) {
        if network.nodes.iter().all(|model| model.workload.is_none()) {
            return;
        }
        for (pool, prefixes) in &plan.cluster.pools {
            for net in prefixes.iter().map(|prefix| one_of(prefix.value)) {
                let found = self.0.entry((DestinationKind::Service(pool.to_string()), net)).or_default();
                for (model, vertex) in network.nodes.iter().zip(0..) {
                    let heard = model.workload.as_ref().filter(|_| serves(vertex as usize));
                    match heard.ok_or(AbsenceReason::Unheard).and_then(|workload| given(workload, net)) {
                        Ok(asn) => {
                            let silent = aggregate::is_covered(model, net);
                            found.origins.push(Originator {
                                vertex,
                                source: RouteSource::Speaker(asn),
                                silent,
                            });
                        }
                        Err(absence) => found.absence = found.absence.max(Some(absence)),
                    }
                }
            }
        }
    }

    /// Puts together what spreads alike: the loopbacks of one node, mostly.
    fn alike(&self, graph: &Graph) -> Vec<Destination> {
        let same = graph.is_alike_for_both_families();
        let mut known: BTreeMap<_, usize> = BTreeMap::new();
        let mut all: Vec<Destination> = Vec::new();
        for ((kind, net), OriginatorList { origins, absence }) in &self.0 {
            let absence = absence.filter(|_| origins.is_empty());
            let family = if same { Family::V4 } else { Family::of(*net) };
            let passes: Vec<bool> = graph.gates.iter().map(|gate| gate.admits(*net)).collect();
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

/// AS number of a speaker, if the node takes this prefix from it.
pub fn given(workload: &Workload, net: IpNet) -> Result<u32, AbsenceReason> {
    if !workload.families.contains(&Family::of(net)) {
        return Err(AbsenceReason::Family);
    }
    if !workload.filter.admits(net) {
        return Err(AbsenceReason::Filter);
    }
    Ok(workload.theirs.asn.0)
}

/// The address that stands for a pool: its first, or of IPv6 the one behind it, which is an ordinary one.
pub(crate) fn one_of(pool: IpNet) -> IpNet {
    let mut hosts = pool.hosts();
    let first = hosts.next();
    let second = if pool.addr().is_ipv6() { hosts.next() } else { None };
    IpNet::from(second.or(first).unwrap_or(pool.addr()))
}
