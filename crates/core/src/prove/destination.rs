//! What shall be reached: addresses, and who has them to give.

use std::collections::BTreeMap;
use std::fmt;

use ipnet::IpNet;

use super::failure::Failure;
use super::graph::Graph;
use crate::cluster::section::Advertise;
use crate::plan::Plan;
use crate::routing::{Family, Model, Network};

/// What kind of address it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
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

impl fmt::Display for Kind {
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

/// Who announces a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The node.
    pub vertex: u32,
    /// AS number of the speaker that gave it to the node, if one did.
    pub speaker: Option<u32>,
}

/// Prefixes that spread alike.
#[derive(Clone, Debug)]
pub struct Destination {
    /// What kind they are.
    pub kind: Kind,
    /// The prefixes.
    pub nets: Vec<IpNet>,
    /// Their family; where every session carries both, that of the first.
    pub family: Family,
    /// Who announces them.
    pub origins: Vec<Origin>,
    /// The nodes that have the address. They are the origins, unless an aggregate stands in for it.
    pub holders: Vec<u32>,
    /// Which of the graph's gates let them through.
    pub passes: Vec<bool>,
}

impl Destination {
    /// The family of the prefixes.
    pub fn family(&self) -> Family {
        self.nets.first().map_or(self.family, |net| Family::of(*net))
    }

    /// Whether an aggregate stands in for it.
    pub fn is_hidden(&self) -> bool {
        self.origins.is_empty() && !self.holders.is_empty()
    }

    /// Whether a failure can matter to it.
    pub fn notices(&self, failure: Failure) -> bool {
        match failure {
            Failure::Vertex(_) | Failure::Edge(_) => true,
            Failure::Speaker(node) => {
                self.origins.iter().any(|origin| origin.speaker.is_some() && origin.vertex == node)
            }
        }
    }
}

/// Everything that shall be reached in a network. `serves` says of a node whether its speaker's session works.
pub fn all(
    graph: &Graph,
    network: &Network,
    plan: &Plan,
    serves: impl Fn(usize) -> bool,
) -> Vec<Destination> {
    let mut found = Found::default();
    for (nth, model) in (0..).zip(&network.nodes) {
        for announced in &model.fabric.announced {
            let kind = match announced.kind {
                Advertise::Loopback => Kind::Loopback,
                Advertise::Dummy => Kind::Dummy,
                Advertise::Anycast => Kind::Anycast,
            };
            let hidden = model.fabric.aggregates.iter().any(|net| net.contains(&announced.net));
            let origin = (!hidden).then_some(Origin { vertex: nth, speaker: None });
            found.add(kind, announced.net, origin, Some(nth));
        }
        for net in &model.fabric.aggregates {
            if model.fabric.announced.iter().any(|announced| net.contains(&announced.net)) {
                found.add(Kind::Aggregate, *net, Some(Origin { vertex: nth, speaker: None }), None);
            }
        }
    }
    found.services(network, plan, serves);
    found.alike(graph)
}

/// Destinations by kind and prefix.
#[derive(Default)]
struct Found(BTreeMap<(Kind, IpNet), (Vec<Origin>, Vec<u32>)>);

impl Found {
    fn add(&mut self, kind: Kind, net: IpNet, origin: Option<Origin>, holder: Option<u32>) {
        let (origins, holders) = self.0.entry((kind, net)).or_default();
        origins.extend(origin);
        holders.extend(holder);
    }

    /// One address of each pool, from every node whose speaker may announce it.
    fn services(&mut self, network: &Network, plan: &Plan, serves: impl Fn(usize) -> bool) {
        if network.nodes.iter().all(|model| model.workload.is_none()) {
            return;
        }
        for (pool, prefixes) in &plan.cluster.pools {
            for net in prefixes.iter().map(|prefix| one_of(prefix.value)) {
                let kind = Kind::Service(pool.to_string());
                self.add(kind.clone(), net, None, None);
                for (nth, model) in network.nodes.iter().enumerate().filter(|(nth, _)| serves(*nth)) {
                    if let Some(asn) = given(model, net) {
                        let vertex = u32::try_from(nth).expect("fewer nodes than 2^32");
                        self.add(
                            kind.clone(),
                            net,
                            Some(Origin { vertex, speaker: Some(asn) }),
                            Some(vertex),
                        );
                    }
                }
            }
        }
    }

    /// Puts together what spreads alike: the loopbacks of one node, mostly.
    fn alike(self, graph: &Graph) -> Vec<Destination> {
        let same = graph.edges.iter().all(|edge| edge.carries[0] == edge.carries[1]);
        let mut known: BTreeMap<_, usize> = BTreeMap::new();
        let mut all: Vec<Destination> = Vec::new();
        for ((kind, net), (origins, holders)) in self.0 {
            let family = if same { Family::V4 } else { Family::of(net) };
            let passes: Vec<bool> = graph.gates.iter().map(|gate| gate.admits(net)).collect();
            let key = (kind.clone(), origins.clone(), holders.clone(), passes.clone(), family);
            let nth = *known.entry(key).or_insert(all.len());
            if nth == all.len() {
                all.push(Destination { kind, nets: Vec::new(), family, origins, holders, passes });
            }
            all[nth].nets.push(net);
        }
        all
    }
}

/// AS number of the speaker, if the node takes this prefix from it.
fn given(model: &Model, net: IpNet) -> Option<u32> {
    let workload = model.workload.as_ref()?;
    let taken = workload.families.contains(&Family::of(net)) && workload.filter.admits(net);
    taken.then_some(workload.theirs.asn.0)
}

/// The address that stands for a pool: its first, or of IPv6 the one behind it, which is an ordinary one.
fn one_of(pool: IpNet) -> IpNet {
    let mut hosts = pool.hosts();
    let first = hosts.next();
    let second = if pool.addr().is_ipv6() { hosts.next() } else { None };
    IpNet::from(second.or(first).unwrap_or(pool.addr()))
}
