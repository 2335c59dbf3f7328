//! What the proof foresees of a running fabric: for nothing and for everything that fails, who has what, by how many paths, which
//! sessions are up and whose packets come back.
//!
//! The speakers of a lab announce other addresses than the one that stands for a pool in the proof, so these are let spread
//! here: each from the nodes that announce it.

mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::here::HostCapabilities;
use super::scene::{LabTopology, MachineRole};
use super::state::{FabricState, Flow, PathCount, Reachability};
use crate::plan::Plan;
use crate::prove::destination::{Destination, DestinationKind, Originator, RouteSource, given};
use crate::prove::failure::Failure;
use crate::prove::spread::Propagation;
use crate::prove::{ProofModel, aggregate};
use crate::routing::network::{BgpSession, TopologyEnd};
use ichor_bgp::model::Family;
use ichor_bgp::model::fabric::{Neighbor, PeerAddress};
use ichor_bgp::setting::Software;
use ichor_values::Backend;
use walk::{Arrival, ForwardingEntry, ForwardingTables, PacketTrace};

/// A fabric of which everything can be foreseen.
#[derive(Debug)]
pub struct Prediction<'a> {
    subject: &'a ProofModel,
    plan: &'a Plan,
    scene: &'a LabTopology,
    destinations: Vec<Destination>,
    /// What each session of the scene is in the proof.
    sessions: Vec<SessionPrediction>,
    /// Packets that come back while nothing fails.
    pub flows: Vec<Flow>,
    /// Of every flow whether outages are measured on it: on all, or where there are many, on some to each destination.
    pub watched: Vec<bool>,
}

/// What a session of the scene is in the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionPrediction {
    /// One that comes up.
    Edge(u32),
    /// That of a node with its speaker.
    Speaker(u32),
    /// One that does not come up.
    Never,
}

/// From so many addresses the outside sends through a door to the same destination.
const SOURCES: usize = 2;

/// On so many flows outages are measured; more would have to send too seldom.
const WATCHED: usize = 400;

/// The fabric as it is built: FRR on every router, as ichor writes it, under the names of the scene; and sessions without what
/// the daemons of the scene cannot do.
pub fn as_built(
    subject: &ProofModel,
    plan: &Plan,
    scene: &LabTopology,
    here: &HostCapabilities,
) -> ProofModel {
    let mut network = subject.network.clone();
    let machines = scene.machines.iter().filter(|machine| matches!(machine.part, MachineRole::Router { .. }));
    for (router, machine) in network.routers.iter_mut().zip(machines) {
        router.name.clone_from(&machine.name);
        router.listed = true;
        router.software = Software::Frr;
    }
    for (BgpSession(one, other), built) in network.sessions.clone().into_iter().zip(&scene.sessions) {
        for end in [one, other] {
            let session = network.at_mut(end);
            if !built.bfd {
                session.bfd = None;
            }
            if !built.carries {
                session.families.clear();
            }
        }
    }
    here.fit_bfd(&mut network);
    subject.with_network(network, plan)
}

impl<'a> Prediction<'a> {
    /// What follows from the proof for a scene of the same cluster.
    pub fn of(subject: &'a ProofModel, plan: &'a Plan, scene: &'a LabTopology) -> Self {
        let sessions = meant(subject, scene);
        let destinations = destinations(subject, plan, scene);
        let mut foreseen =
            Self { subject, plan, scene, destinations, sessions, flows: Vec::new(), watched: Vec::new() };
        foreseen.flows = foreseen.reached();
        foreseen.watched = watched(&foreseen.flows, WATCHED);
        foreseen
    }

    /// Who has what without something, or with everything.
    pub fn state(&self, failure: Option<Failure>) -> FabricState {
        let tables = self.tables(failure);
        let graph = &self.subject.graph;
        let mut state = FabricState::default();
        for (nth, (vertex, table)) in graph.vertices.iter().zip(&tables).enumerate() {
            let routes = table.iter().filter_map(|(net, way)| match way {
                ForwardingEntry::Own => Some((*net, PathCount::Own)),
                ForwardingEntry::By(next) if self.is_told_by_neighbours(nth, *net) => {
                    Some((*net, PathCount::UpTo(next.len())))
                }
                ForwardingEntry::By(next) => Some((*net, PathCount::By(next.len()))),
                ForwardingEntry::Gateway(_) => None,
            });
            state.routes.insert(vertex.name.clone(), routes.collect());
        }
        if let Some(Failure::Vertex(vertex)) = failure {
            let name = &graph.vertices[vertex as usize].name;
            state.routes.remove(name);
            state.gone.insert(name.clone());
        }
        state.sessions = self.sessions.iter().map(|meant| self.is_up(*meant, failure)).collect();
        state.flows = self.flows.iter().map(|flow| self.reach(&tables, failure, flow)).collect();
        state
    }

    /// Whether routers may name the same neighbour to a node as the way to a prefix of IPv6: those on one network with both name the
    /// one who told them, and not themselves (RFC 4271, 5.1.3). Their own default routes they name themselves for.
    fn is_told_by_neighbours(&self, vertex: usize, net: IpNet) -> bool {
        let on_a_network =
            |it: &Neighbor| matches!(it.found, PeerAddress::Address { address: IpAddr::V6(_), .. });
        let node = self.subject.network.nodes.get(vertex);
        let is_part = matches!(net, IpNet::V6(net) if net.prefix_len() > 0);
        is_part && node.is_some_and(|model| model.fabric.neighbors.iter().any(on_a_network))
    }

    /// Milliseconds after which nobody keeps what a silent failure took away: BFD ends it; without, it is kept until the hold time is
    /// over, and of a node as long again as a planned restart of it may take.
    pub fn noticed(&self, failure: Failure) -> u64 {
        let network = &self.subject.network;
        let of_session = |BgpSession(one, other): BgpSession| {
            let ends = [network.at(one), network.at(other)];
            let [near, far] =
                ends.map(|end| end.bfd.map(|bfd| u64::from(bfd.interval) * u64::from(bfd.multiplier)));
            let kept = || match one {
                TopologyEnd::Node(node, _) => self.restart_time(node),
                TopologyEnd::Router(..) => 0,
            };
            near.zip(far).map_or_else(|| hold_time(ends) + kept(), |(near, far)| near.max(far))
        };
        self.longest(failure, &of_session)
    }

    /// The same, as if there were no BFD.
    pub fn kept(&self, failure: Failure) -> u64 {
        let network = &self.subject.network;
        let held =
            self.longest(failure, &|session| hold_time([network.at(session.0), network.at(session.1)]));
        let restarts = (0..network.nodes.len()).map(|node| self.restart_time(node));
        held + restarts.max().unwrap_or_default()
    }

    /// Milliseconds that neighbours keep the routes of a node that may be restarting as planned.
    fn restart_time(&self, node: usize) -> u64 {
        let time = self.subject.network.nodes[node].fabric.graceful_restart;
        u64::from(time.unwrap_or_default()) * 1000
    }

    /// The longest time of all sessions that a failure takes away.
    fn longest(&self, failure: Failure, time: &dyn Fn(BgpSession) -> u64) -> u64 {
        let (network, graph) = (&self.subject.network, &self.subject.graph);
        let of_edge = |edge: &u32| time(network.sessions[graph.edges[*edge as usize].session]);
        match failure {
            Failure::Vertex(vertex) => {
                let edges = graph.vertices[vertex as usize].edges.iter();
                edges.map(|(edge, _)| of_edge(edge)).max().unwrap_or_default()
            }
            Failure::Link(_) | Failure::Between(..) => {
                failure.edges(graph).iter().map(of_edge).max().unwrap_or_default()
            }
            Failure::Speaker(node) => {
                let workload = network.nodes[node as usize].workload.as_ref();
                workload.map(|workload| u64::from(workload.timers.1) * 1000).unwrap_or_default()
            }
        }
    }

    fn is_up(&self, meant: SessionPrediction, failure: Option<Failure>) -> bool {
        let graph = &self.subject.graph;
        match (meant, failure) {
            (SessionPrediction::Never, _) => false,
            (SessionPrediction::Speaker(node), Some(Failure::Speaker(failed))) => node != failed,
            (SessionPrediction::Speaker(_), _) => true,
            (SessionPrediction::Edge(_), None) => true,
            (SessionPrediction::Edge(edge), Some(failure)) => !is_over(graph, failure, edge),
        }
    }

    fn tables(&self, failure: Option<Failure>) -> ForwardingTables {
        let graph = &self.subject.graph;
        let failures: Vec<Failure> = failure.into_iter().collect();
        let mut tables: ForwardingTables = vec![BTreeMap::new(); graph.vertices.len()];
        let mut spread = Propagation::new(graph);
        for target in &self.destinations {
            spread.settle(target);
            spread.without(&failures, |spread| {
                for (vertex, table) in (0..).zip(&mut tables).filter(|(vertex, _)| spread.has(*vertex)) {
                    let far = |edge: u32| graph.edges[edge as usize].other(vertex);
                    let way = if spread.is_own(vertex) {
                        ForwardingEntry::Own
                    } else {
                        ForwardingEntry::By(spread.next(vertex).into_iter().map(far).collect())
                    };
                    table.extend(target.nets.iter().map(|net| (*net, way.clone())));
                }
            });
        }
        for (node, table) in (0..).zip(&mut tables).take(graph.nodes) {
            if failure == Some(Failure::Vertex(node)) {
                continue;
            }
            for family in Family::ALL {
                if let Some(way) = self.by_default(node, family, failure) {
                    table.insert(family.everything(), way);
                }
            }
        }
        tables
    }

    /// A node's default route: one from BGP goes before the gateway's. Not so with FRR: zebra takes what is in the kernel already for the
    /// best there is, and leaves BGP's out.
    fn by_default(&self, node: u32, family: Family, failure: Option<Failure>) -> Option<ForwardingEntry> {
        let plan = &self.plan.nodes[self.subject.network.nodes[node as usize].nth];
        let is_frr = plan.routing.as_deref().is_some_and(|routing| routing.backend.value == Backend::Frr);
        let by_gateway = self.by_gateway(node, family, failure);
        if is_frr && by_gateway.is_some() {
            by_gateway
        } else {
            self.by_bgp(node, family, failure).or(by_gateway)
        }
    }

    /// The default route that routers give a node.
    fn by_bgp(&self, node: u32, family: Family, failure: Option<Failure>) -> Option<ForwardingEntry> {
        let graph = &self.subject.graph;
        let up = |edge: u32| failure.is_none_or(|failure| !is_over(graph, failure, edge));
        let given = graph.defaults(node, family).filter(|(edge, _)| up(*edge));
        let routers: Vec<u32> = given.map(|(_, router)| router).collect();
        (!routers.is_empty()).then_some(ForwardingEntry::By(routers))
    }

    /// The default route that a node has from the start.
    fn by_gateway(&self, node: u32, family: Family, failure: Option<Failure>) -> Option<ForwardingEntry> {
        let graph = &self.subject.graph;
        let plan = &self.plan.nodes[self.subject.network.nodes[node as usize].nth];
        let gateway: IpAddr = match family {
            Family::V4 => plan.gateway.v4.as_ref()?.value.into(),
            Family::V6 => plan.gateway.v6.as_ref()?.value.into(),
        };
        let link = graph.link_of(node, plan.below_vlans(&plan.link.value));
        if failure.is_some_and(|failure| link.is_some_and(|link| failure == Failure::Link(link))) {
            return None;
        }
        let routers = self.subject.network.routers.iter();
        let router = routers.zip(graph.routers()).find(|(router, _)| router.addresses.contains(&gateway));
        router.map(|(_, vertex)| ForwardingEntry::Gateway(vertex))
    }

    /// Every way packets can go, of which all come back while nothing fails.
    fn reached(&self) -> Vec<Flow> {
        let tables = self.tables(None);
        let nets: BTreeSet<IpNet> =
            self.destinations.iter().flat_map(|target| &target.nets).copied().collect();
        let to: Vec<IpAddr> = nets
            .into_iter()
            .filter(|net| net.prefix_len() == net.max_prefix_len())
            .map(|net| net.addr())
            .collect();
        let mut flows = Vec::new();
        for machine in &self.scene.machines {
            let mut send = |door: Option<&str>, source: IpAddr, to: IpAddr| {
                flows.push(Flow { from: machine.name.clone(), door: door.map(str::to_owned), source, to });
            };
            match &machine.part {
                MachineRole::Router { .. } | MachineRole::Guest(_) => {}
                MachineRole::Node { sources, .. } => {
                    for source in sources {
                        let alike = to.iter().filter(|to| to.is_ipv4() == source.is_ipv4());
                        alike.for_each(|to| send(None, *source, *to));
                    }
                }
                MachineRole::Outside { doors } => {
                    for (door, (nth, to)) in
                        doors.iter().flat_map(|door| to.iter().enumerate().map(move |to| (door, to)))
                    {
                        let alike = door.sources.iter().filter(|source| source.is_ipv4() == to.is_ipv4());
                        let alike: Vec<IpAddr> = alike.copied().collect();
                        let turns = (nth * SOURCES..).take(SOURCES.min(alike.len()));
                        turns.for_each(|turn| send(Some(&door.router), alike[turn % alike.len()], *to));
                    }
                }
            }
        }
        flows.retain(|flow| {
            !self.is_at_home(&tables, flow) && self.reach(&tables, None, flow) == Reachability::All
        });
        flows
    }

    /// Whether the sender has the address itself.
    fn is_at_home(&self, tables: &ForwardingTables, flow: &Flow) -> bool {
        let vertex = self.vertex(&flow.from);
        vertex.is_some_and(|vertex| {
            tables[vertex as usize].get(&IpNet::from(flow.to)) == Some(&ForwardingEntry::Own)
        })
    }

    fn vertex(&self, name: &str) -> Option<u32> {
        (0..).zip(&self.subject.graph.vertices).find(|(_, vertex)| vertex.name == name).map(|(nth, _)| nth)
    }

    /// Whether packets of a flow come back.
    fn reach(&self, tables: &ForwardingTables, failure: Option<Failure>, flow: &Flow) -> Reachability {
        let walk = PacketTrace { nodes: self.subject.graph.nodes, tables, failure };
        let Some(start) = self.vertex(flow.door.as_deref().unwrap_or(&flow.from)) else {
            return Reachability::None;
        };
        let there = walk.from(start, flow.to);
        let back: Vec<Arrival> = there
            .at
            .iter()
            .map(|giver| match flow.door {
                Some(_) => walk.outward(*giver, flow.source),
                None => walk.from(*giver, flow.source),
            })
            .collect();
        let arrives = back.iter().any(|arrival| !arrival.at.is_empty());
        match arrives {
            false => Reachability::None,
            true if there.lost || back.iter().any(|arrival| arrival.lost) => Reachability::Some,
            true => Reachability::All,
        }
    }
}

/// Of every flow whether it is among those that are watched: of each destination the same number, from senders far apart.
fn watched(flows: &[Flow], most: usize) -> Vec<bool> {
    let mut by_destination: BTreeMap<IpAddr, Vec<usize>> = BTreeMap::new();
    for (nth, flow) in flows.iter().enumerate() {
        by_destination.entry(flow.to).or_default().push(nth);
    }
    let share = if flows.len() <= most { flows.len() } else { (most / by_destination.len()).max(1) };
    let mut watched = vec![false; flows.len()];
    for members in by_destination.values() {
        let step = members.len().div_ceil(share).max(1);
        members.iter().step_by(step).for_each(|nth| watched[*nth] = true);
    }
    watched
}

/// Milliseconds after which either end of a session gives it up.
fn hold_time(ends: [&Neighbor; 2]) -> u64 {
    ends.iter().map(|end| u64::from(end.timers.1) * 1000).max().unwrap_or_default()
}

/// Whether a failure takes a session away.
fn is_over(graph: &crate::prove::graph::Graph, failure: Failure, edge: u32) -> bool {
    let ends = graph.edges[edge as usize].ends;
    match failure {
        Failure::Vertex(vertex) => ends.0 == vertex || ends.1 == vertex,
        Failure::Link(_) | Failure::Between(..) => failure.edges(graph).contains(&edge),
        Failure::Speaker(_) => false,
    }
}

/// Which sessions of the proof those of the scene are, by the names at their ends: of several between two, in their order.
fn meant(subject: &ProofModel, scene: &LabTopology) -> Vec<SessionPrediction> {
    let network = &subject.network;
    let mut edges: BTreeMap<usize, u32> = BTreeMap::new();
    edges.extend(subject.graph.edges.iter().zip(0..).map(|(edge, nth)| (edge.session, nth)));
    let mut waiting: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (nth, session) in network.sessions.iter().enumerate().rev() {
        waiting.entry((network.name(session.0), network.name(session.1))).or_default().push(nth);
    }
    let speakers: BTreeMap<String, u32> = (0..)
        .zip(&network.nodes)
        .filter(|(node, _)| subject.speaker_faults[*node as usize].is_none())
        .map(|(node, _)| (subject.name(Failure::Speaker(node)), node))
        .collect();
    let mut all = Vec::new();
    for session in &scene.sessions {
        let ends = (session.one.name.as_str(), session.other.name.as_str());
        let nth = waiting.get_mut(&ends).and_then(Vec::pop);
        let edge = nth.and_then(|nth| edges.get(&nth));
        all.push(match (speakers.get(ends.1), edge) {
            (Some(node), _) => SessionPrediction::Speaker(*node),
            (None, Some(edge)) => SessionPrediction::Edge(*edge),
            (None, None) => SessionPrediction::Never,
        });
    }
    all
}

/// Everything that is announced: of services what the speakers of the scene announce.
fn destinations(subject: &ProofModel, plan: &Plan, scene: &LabTopology) -> Vec<Destination> {
    let own =
        subject.destinations.iter().filter(|target| !matches!(target.kind, DestinationKind::Service(_)));
    let mut all: Vec<Destination> = own.cloned().collect();
    let mut announced: BTreeMap<IpNet, Vec<Originator>> = BTreeMap::new();
    for (vertex, model) in (0..).zip(&subject.network.nodes) {
        let machine = scene.machines.iter().find(|machine| machine.name == model.name.as_str());
        let Some(MachineRole::Node { speaker: Some(speaker), .. }) = machine.map(|machine| &machine.part)
        else {
            continue;
        };
        let Some(workload) = &model.workload else { continue };
        if subject.speaker_faults[vertex as usize].is_some() {
            continue;
        }
        for net in &speaker.announces {
            if let Ok(asn) = given(workload, *net) {
                let silent = aggregate::is_covered(model, *net);
                let origin = Originator { vertex, source: RouteSource::Speaker(asn), silent };
                announced.entry(*net).or_default().push(origin);
            }
        }
    }
    for (net, origins) in announced {
        let holds =
            |prefixes: &[crate::plan::Decided<IpNet>]| prefixes.iter().any(|pool| pool.value.contains(&net));
        let pool = plan.cluster.pools.iter().find(|(_, prefixes)| holds(prefixes));
        let kind = DestinationKind::Service(pool.map(|(name, _)| name.to_string()).unwrap_or_default());
        let passes = subject.graph.gates.iter().map(|gate| gate.admits(net)).collect();
        all.push(Destination {
            kind,
            nets: vec![net],
            family: Family::of(net),
            origins,
            absence: None,
            passes,
        });
    }
    all
}

#[cfg(test)]
mod tests;
