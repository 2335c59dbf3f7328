//! Predicts the state of a running fabric from the proof, without a failure and for every failure: routes and their number of
//! paths, sessions, and flows with replies.
//!
//! The speakers of a lab announce other addresses than the proof's example address of a pool, so their routes are propagated
//! here, each from the nodes that announce it.

mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::host::HostCapabilities;
use super::state::{FabricState, Flow, PathCount, Reachability};
use super::topology::{LabTopology, MachineRole};
use crate::plan::Plan;
use crate::prove::destination::{Destination, DestinationKind, Originator, RouteSource, accepted_asn};
use crate::prove::failure::Failure;
use crate::prove::propagation::Propagation;
use crate::prove::{ProofModel, aggregate};
use crate::routing::network::{BgpSession, TopologyEnd};
use ichor_bgp::model::Family;
use ichor_bgp::model::fabric::{Neighbor, PeerAddress};
use ichor_bgp::setting::Software;
use ichor_values::Backend;
use trace::{Arrival, ForwardingEntry, ForwardingTables, PacketTrace};

/// The prediction for a lab's fabric.
#[derive(Debug)]
pub struct Prediction<'a> {
    subject: &'a ProofModel,
    plan: &'a Plan,
    topology: &'a LabTopology,
    destinations: Vec<Destination>,
    /// The counterpart of each session in the proof.
    sessions: Vec<SessionPrediction>,
    /// Flows that have replies without a failure.
    pub flows: Vec<Flow>,
    /// Whether outages are measured on each flow: on all, or if there are many, on some to each destination.
    pub watched: Vec<bool>,
}

/// The counterpart of a lab's session in the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionPrediction {
    /// A session that comes up.
    Edge(u32),
    /// The session of a node with its speaker.
    Speaker(u32),
    /// A session that does not come up.
    Never,
}

/// The number of source addresses per entry router and destination.
const SOURCES: usize = 2;

/// The number of flows on which outages are measured. With more, the interval between packets would be too long.
const MAX_MEASURED: usize = 400;

/// The proof model of the lab's fabric: FRR on every router, with the lab's names, and sessions without features that the
/// lab's daemons lack.
pub fn lab_proof_model(
    subject: &ProofModel,
    plan: &Plan,
    topology: &LabTopology,
    here: &HostCapabilities,
) -> ProofModel {
    let mut network = subject.network.clone();
    let machines =
        topology.machines.iter().filter(|machine| matches!(machine.part, MachineRole::Router { .. }));
    for (router, machine) in network.routers.iter_mut().zip(machines) {
        router.name.clone_from(&machine.name);
        router.listed = true;
        router.software = Software::Frr;
    }
    for (BgpSession(one, other), built) in network.sessions.clone().into_iter().zip(&topology.sessions) {
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
    here.scale_bfd(&mut network);
    subject.with_network(network, plan)
}

impl<'a> Prediction<'a> {
    /// Prepares the prediction for a topology of the same cluster.
    pub fn new(subject: &'a ProofModel, plan: &'a Plan, topology: &'a LabTopology) -> Self {
        let sessions = match_sessions(subject, topology);
        let destinations = lab_destinations(subject, plan, topology);
        let mut prediction =
            Self { subject, plan, topology, destinations, sessions, flows: Vec::new(), watched: Vec::new() };
        prediction.flows = prediction.find_flows();
        prediction.watched = select_measured(&prediction.flows, MAX_MEASURED);
        prediction
    }

    /// The state with a failure, or without one.
    pub fn state(&self, failure: Option<Failure>) -> FabricState {
        let tables = self.forwarding_tables(failure);
        let graph = &self.subject.graph;
        let mut state = FabricState::default();
        for (nth, (vertex, table)) in graph.vertices.iter().zip(&tables).enumerate() {
            let routes = table.iter().filter_map(|(net, way)| match way {
                ForwardingEntry::Own => Some((*net, PathCount::Own)),
                ForwardingEntry::By(next) if self.may_share_next_hops(nth, *net) => {
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
        state.sessions = self.sessions.iter().map(|session| self.is_up(*session, failure)).collect();
        state.flows = self.flows.iter().map(|flow| self.reachability(&tables, failure, flow)).collect();
        state
    }

    /// Whether routers may advertise the same next hop for an IPv6 prefix: on a shared network they keep the next hop of the
    /// router that advertised it to them (RFC 4271, section 5.1.3). For their own default routes they are the next hop.
    fn may_share_next_hops(&self, vertex: usize, net: IpNet) -> bool {
        let on_a_network =
            |it: &Neighbor| matches!(it.found, PeerAddress::Address { address: IpAddr::V6(_), .. });
        let node = self.subject.network.nodes.get(vertex);
        let is_part = matches!(net, IpNet::V6(net) if net.prefix_len() > 0);
        is_part && node.is_some_and(|model| model.fabric.neighbors.iter().any(on_a_network))
    }

    /// Milliseconds until all neighbours have removed the routes of a silent failure: by BFD, or else after the hold time, plus
    /// the restart time of a node.
    pub fn detection_time(&self, failure: Failure) -> u64 {
        let network = &self.subject.network;
        let of_session = |BgpSession(one, other): BgpSession| {
            let ends = [network.at(one), network.at(other)];
            let [near, far] =
                ends.map(|end| end.bfd.map(|bfd| u64::from(bfd.interval) * u64::from(bfd.multiplier)));
            let restart = || match one {
                TopologyEnd::Node(node, _) => self.restart_time(node),
                TopologyEnd::Router(..) => 0,
            };
            near.zip(far).map_or_else(|| hold_time(ends) + restart(), |(near, far)| near.max(far))
        };
        self.longest_time(failure, &of_session)
    }

    /// The detection time without BFD.
    pub fn detection_time_without_bfd(&self, failure: Failure) -> u64 {
        let network = &self.subject.network;
        let hold =
            self.longest_time(failure, &|session| hold_time([network.at(session.0), network.at(session.1)]));
        let restarts = (0..network.nodes.len()).map(|node| self.restart_time(node));
        hold + restarts.max().unwrap_or_default()
    }

    /// The graceful restart time of a node, in milliseconds.
    fn restart_time(&self, node: usize) -> u64 {
        let time = self.subject.network.nodes[node].fabric.graceful_restart;
        u64::from(time.unwrap_or_default()) * 1000
    }

    /// The longest time of all sessions that a failure ends.
    fn longest_time(&self, failure: Failure, time: &dyn Fn(BgpSession) -> u64) -> u64 {
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

    fn is_up(&self, session: SessionPrediction, failure: Option<Failure>) -> bool {
        let graph = &self.subject.graph;
        match (session, failure) {
            (SessionPrediction::Never, _) => false,
            (SessionPrediction::Speaker(node), Some(Failure::Speaker(failed))) => node != failed,
            (SessionPrediction::Speaker(_), _) => true,
            (SessionPrediction::Edge(_), None) => true,
            (SessionPrediction::Edge(edge), Some(failure)) => !ends_session(graph, failure, edge),
        }
    }

    fn forwarding_tables(&self, failure: Option<Failure>) -> ForwardingTables {
        let graph = &self.subject.graph;
        let failures: Vec<Failure> = failure.into_iter().collect();
        let mut tables: ForwardingTables = vec![BTreeMap::new(); graph.vertices.len()];
        let mut spread = Propagation::new(graph);
        for target in &self.destinations {
            spread.converge(target);
            spread.with_failures(&failures, |spread| {
                for (vertex, table) in (0..).zip(&mut tables).filter(|(vertex, _)| spread.has(*vertex)) {
                    let far = |edge: u32| graph.edges[edge as usize].other(vertex);
                    let entry = if spread.is_own(vertex) {
                        ForwardingEntry::Own
                    } else {
                        ForwardingEntry::By(spread.next(vertex).into_iter().map(far).collect())
                    };
                    table.extend(target.nets.iter().map(|net| (*net, entry.clone())));
                }
            });
        }
        for (node, table) in (0..).zip(&mut tables).take(graph.nodes) {
            if failure == Some(Failure::Vertex(node)) {
                continue;
            }
            for family in Family::ALL {
                if let Some(entry) = self.default_route(node, family, failure) {
                    table.insert(family.everything(), entry);
                }
            }
        }
        tables
    }

    /// A node's default route. BGP's takes precedence over the gateway's, except with FRR: zebra prefers the existing kernel route
    /// and does not install BGP's.
    fn default_route(&self, node: u32, family: Family, failure: Option<Failure>) -> Option<ForwardingEntry> {
        let plan = &self.plan.nodes[self.subject.network.nodes[node as usize].nth];
        let is_frr = plan.routing.as_deref().is_some_and(|routing| routing.backend.value == Backend::Frr);
        let by_gateway = self.gateway_default(node, family, failure);
        if is_frr && by_gateway.is_some() {
            by_gateway
        } else {
            self.bgp_default(node, family, failure).or(by_gateway)
        }
    }

    /// The default route that routers announce to a node.
    fn bgp_default(&self, node: u32, family: Family, failure: Option<Failure>) -> Option<ForwardingEntry> {
        let graph = &self.subject.graph;
        let up = |edge: u32| failure.is_none_or(|failure| !ends_session(graph, failure, edge));
        let given = graph.defaults(node, family).filter(|(edge, _)| up(*edge));
        let routers: Vec<u32> = given.map(|(_, router)| router).collect();
        (!routers.is_empty()).then_some(ForwardingEntry::By(routers))
    }

    /// The default route through the configured gateway.
    fn gateway_default(
        &self,
        node: u32,
        family: Family,
        failure: Option<Failure>,
    ) -> Option<ForwardingEntry> {
        let graph = &self.subject.graph;
        let plan = &self.plan.nodes[self.subject.network.nodes[node as usize].nth];
        let gateway: IpAddr = match family {
            Family::V4 => plan.gateway.v4.as_ref()?.value.into(),
            Family::V6 => plan.gateway.v6.as_ref()?.value.into(),
        };
        let link = graph.link_of(node, plan.base_link(&plan.link.value));
        if failure.is_some_and(|failure| link.is_some_and(|link| failure == Failure::Link(link))) {
            return None;
        }
        let routers = self.subject.network.routers.iter();
        let router = routers.zip(graph.routers()).find(|(router, _)| router.addresses.contains(&gateway));
        router.map(|(_, vertex)| ForwardingEntry::Gateway(vertex))
    }

    /// The flows of which all packets have replies without a failure.
    fn find_flows(&self) -> Vec<Flow> {
        let tables = self.forwarding_tables(None);
        let nets: BTreeSet<IpNet> =
            self.destinations.iter().flat_map(|target| &target.nets).copied().collect();
        let to: Vec<IpAddr> = nets
            .into_iter()
            .filter(|net| net.prefix_len() == net.max_prefix_len())
            .map(|net| net.addr())
            .collect();
        let mut flows = Vec::new();
        for machine in &self.topology.machines {
            let mut send = |door: Option<&str>, source: IpAddr, to: IpAddr| {
                flows.push(Flow { from: machine.name.clone(), door: door.map(str::to_owned), source, to });
            };
            match &machine.part {
                MachineRole::Router { .. } | MachineRole::Guest(_) => {}
                MachineRole::Node { sources, .. } => {
                    for source in sources {
                        let targets = to.iter().filter(|to| to.is_ipv4() == source.is_ipv4());
                        targets.for_each(|to| send(None, *source, *to));
                    }
                }
                MachineRole::Outside { doors } => {
                    for (door, (nth, to)) in
                        doors.iter().flat_map(|door| to.iter().enumerate().map(move |to| (door, to)))
                    {
                        let sources = door.sources.iter().filter(|source| source.is_ipv4() == to.is_ipv4());
                        let sources: Vec<IpAddr> = sources.copied().collect();
                        let turns = (nth * SOURCES..).take(SOURCES.min(sources.len()));
                        turns.for_each(|turn| send(Some(&door.router), sources[turn % sources.len()], *to));
                    }
                }
            }
        }
        flows.retain(|flow| {
            !self.is_local(&tables, flow) && self.reachability(&tables, None, flow) == Reachability::All
        });
        flows
    }

    /// Whether the sender has the destination address.
    fn is_local(&self, tables: &ForwardingTables, flow: &Flow) -> bool {
        let vertex = self.find_vertex(&flow.from);
        vertex.is_some_and(|vertex| {
            tables[vertex as usize].get(&IpNet::from(flow.to)) == Some(&ForwardingEntry::Own)
        })
    }

    fn find_vertex(&self, name: &str) -> Option<u32> {
        (0..).zip(&self.subject.graph.vertices).find(|(_, vertex)| vertex.name == name).map(|(nth, _)| nth)
    }

    /// Whether a flow has replies.
    fn reachability(&self, tables: &ForwardingTables, failure: Option<Failure>, flow: &Flow) -> Reachability {
        let trace = PacketTrace { nodes: self.subject.graph.nodes, tables, failure };
        let Some(start) = self.find_vertex(flow.door.as_deref().unwrap_or(&flow.from)) else {
            return Reachability::None;
        };
        let request = trace.follow(start, flow.to);
        let replies: Vec<Arrival> = request
            .at
            .iter()
            .map(|receiver| match flow.door {
                Some(_) => trace.follow_to_outside(*receiver, flow.source),
                None => trace.follow(*receiver, flow.source),
            })
            .collect();
        let arrives = replies.iter().any(|arrival| !arrival.at.is_empty());
        match arrives {
            false => Reachability::None,
            true if request.lost || replies.iter().any(|arrival| arrival.lost) => Reachability::Some,
            true => Reachability::All,
        }
    }
}

/// Selects the flows to measure: the same number for each destination, from evenly spaced senders.
fn select_measured(flows: &[Flow], most: usize) -> Vec<bool> {
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

/// The longer hold time of a session's ends, in milliseconds.
fn hold_time(ends: [&Neighbor; 2]) -> u64 {
    ends.iter().map(|end| u64::from(end.timers.1) * 1000).max().unwrap_or_default()
}

/// Whether a failure ends a session.
fn ends_session(graph: &crate::prove::graph::Graph, failure: Failure, edge: u32) -> bool {
    let ends = graph.edges[edge as usize].ends;
    match failure {
        Failure::Vertex(vertex) => ends.0 == vertex || ends.1 == vertex,
        Failure::Link(_) | Failure::Between(..) => failure.edges(graph).contains(&edge),
        Failure::Speaker(_) => false,
    }
}

/// Matches the lab's sessions to those of the proof by the names of their ends, in order.
fn match_sessions(subject: &ProofModel, topology: &LabTopology) -> Vec<SessionPrediction> {
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
    for session in &topology.sessions {
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

/// All announced destinations, with the service addresses of the lab's speakers.
fn lab_destinations(subject: &ProofModel, plan: &Plan, topology: &LabTopology) -> Vec<Destination> {
    let own =
        subject.destinations.iter().filter(|target| !matches!(target.kind, DestinationKind::Service(_)));
    let mut all: Vec<Destination> = own.cloned().collect();
    let mut announced: BTreeMap<IpNet, Vec<Originator>> = BTreeMap::new();
    for (vertex, model) in (0..).zip(&subject.network.nodes) {
        let machine = topology.machines.iter().find(|machine| machine.name == model.name.as_str());
        let Some(MachineRole::Node { speaker: Some(speaker), .. }) = machine.map(|machine| &machine.part)
        else {
            continue;
        };
        let Some(workload) = &model.workload else { continue };
        if subject.speaker_faults[vertex as usize].is_some() {
            continue;
        }
        for net in &speaker.announces {
            if let Ok(asn) = accepted_asn(workload, *net) {
                let aggregated = aggregate::is_covered(model, *net);
                let origin = Originator { vertex, source: RouteSource::Speaker(asn), aggregated };
                announced.entry(*net).or_default().push(origin);
            }
        }
    }
    for (net, origins) in announced {
        let contains =
            |prefixes: &[crate::plan::Decided<IpNet>]| prefixes.iter().any(|pool| pool.value.contains(&net));
        let pool = plan.cluster.pools.iter().find(|(_, prefixes)| contains(prefixes));
        let kind = DestinationKind::Service(pool.map(|(name, _)| name.to_string()).unwrap_or_default());
        let passes = subject.graph.import_filters.iter().map(|filter| filter.admits(net)).collect();
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
