//! What the proof foresees of a running fabric: for nothing and for everything that fails, who has what, by how many paths, which
//! sessions are up and whose packets come back.
//!
//! The speakers of a lab announce other addresses than the one that stands for a pool in the proof, so these are let spread
//! here: each from the nodes that announce it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::scene::{Part, Scene};
use super::state::{Flow, Paths, Reach, State};
use crate::cluster::section::Software;
use crate::plan::Plan;
use crate::prove::destination::{Destination, Kind, Origin, Source, given};
use crate::prove::failure::Failure;
use crate::prove::spread::Spread;
use crate::prove::{Subject, aggregate};
use crate::routing::Family;
use crate::routing::fabric::Neighbor;
use crate::routing::network::{End, Session};

/// A fabric of which everything can be foreseen.
#[derive(Debug)]
pub struct Foreseen<'a> {
    subject: &'a Subject,
    plan: &'a Plan,
    scene: &'a Scene,
    destinations: Vec<Destination>,
    /// What each session of the scene is in the proof.
    sessions: Vec<Meant>,
    /// Packets that come back while nothing fails.
    pub flows: Vec<Flow>,
    /// Of every flow whether outages are measured on it: on all, or where there are many, on some to each destination.
    pub watched: Vec<bool>,
}

/// What a session of the scene is in the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meant {
    /// One that comes up.
    Edge(u32),
    /// That of a node with its speaker.
    Speaker(u32),
    /// One that does not come up.
    Never,
}

/// Where someone sends packets to a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// It is there.
    Own,
    /// To neighbours, by BGP.
    By(Vec<u32>),
    /// To the gateway that the file names.
    Gateway(u32),
}

/// From so many addresses the outside sends through a door to the same destination.
const SOURCES: usize = 2;

/// On so many flows outages are measured; more would have to send too seldom.
const WATCHED: usize = 400;

/// By vertex: its ways.
type Tables = Vec<BTreeMap<IpNet, Way>>;

/// The fabric as it is built: FRR on every router, as ichor writes it, under the names of the scene.
pub fn as_built(subject: &Subject, plan: &Plan, scene: &Scene) -> Subject {
    let mut network = subject.network.clone();
    let machines = scene.machines.iter().filter(|machine| matches!(machine.part, Part::Router { .. }));
    for (router, machine) in network.routers.iter_mut().zip(machines) {
        router.name.clone_from(&machine.name);
        router.listed = true;
        router.software = Software::Frr;
    }
    subject.with_network(network, plan)
}

impl<'a> Foreseen<'a> {
    /// What follows from the proof for a scene of the same cluster.
    pub fn of(subject: &'a Subject, plan: &'a Plan, scene: &'a Scene) -> Self {
        let sessions = meant(subject, scene);
        let destinations = destinations(subject, plan, scene);
        let mut foreseen =
            Self { subject, plan, scene, destinations, sessions, flows: Vec::new(), watched: Vec::new() };
        foreseen.flows = foreseen.reached();
        foreseen.watched = watched(&foreseen.flows, WATCHED);
        foreseen
    }

    /// Who has what without something, or with everything.
    pub fn state(&self, failure: Option<Failure>) -> State {
        let tables = self.tables(failure);
        let graph = &self.subject.graph;
        let mut state = State::default();
        for (vertex, table) in graph.vertices.iter().zip(&tables) {
            let routes = table.iter().filter_map(|(net, way)| match way {
                Way::Own => Some((*net, Paths::Own)),
                Way::By(next) => Some((*net, Paths::By(next.len()))),
                Way::Gateway(_) => None,
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

    /// Milliseconds after which nobody keeps what a silent failure took away: BFD ends it; without, it is kept until the hold time is
    /// over, and of a node as long again as a planned restart of it may take.
    pub fn noticed(&self, failure: Failure) -> u64 {
        let network = &self.subject.network;
        let of_session = |Session(one, other): Session| {
            let ends = [network.at(one), network.at(other)];
            let [near, far] =
                ends.map(|end| end.bfd.map(|bfd| u64::from(bfd.interval) * u64::from(bfd.multiplier)));
            let kept = || match one {
                End::Node(node, _) => self.restart_time(node),
                End::Router(..) => 0,
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
    fn longest(&self, failure: Failure, time: &dyn Fn(Session) -> u64) -> u64 {
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

    fn is_up(&self, meant: Meant, failure: Option<Failure>) -> bool {
        let graph = &self.subject.graph;
        match (meant, failure) {
            (Meant::Never, _) => false,
            (Meant::Speaker(node), Some(Failure::Speaker(failed))) => node != failed,
            (Meant::Speaker(_), _) => true,
            (Meant::Edge(_), None) => true,
            (Meant::Edge(edge), Some(failure)) => !is_over(graph, failure, edge),
        }
    }

    fn tables(&self, failure: Option<Failure>) -> Tables {
        let graph = &self.subject.graph;
        let failures: Vec<Failure> = failure.into_iter().collect();
        let mut tables: Tables = vec![BTreeMap::new(); graph.vertices.len()];
        let mut spread = Spread::new(graph);
        for target in &self.destinations {
            spread.settle(target);
            spread.without(&failures, |spread| {
                for (vertex, table) in (0..).zip(&mut tables).filter(|(vertex, _)| spread.has(*vertex)) {
                    let far = |edge: u32| graph.edges[edge as usize].other(vertex);
                    let way = if spread.is_own(vertex) {
                        Way::Own
                    } else {
                        Way::By(spread.next(vertex).into_iter().map(far).collect())
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

    /// A node's default route: one from BGP goes before the gateway's.
    fn by_default(&self, node: u32, family: Family, failure: Option<Failure>) -> Option<Way> {
        let graph = &self.subject.graph;
        let up = |edge: u32| failure.is_none_or(|failure| !is_over(graph, failure, edge));
        let given = graph.defaults(node, family).filter(|(edge, _)| up(*edge));
        let routers: Vec<u32> = given.map(|(_, router)| router).collect();
        if !routers.is_empty() {
            return Some(Way::By(routers));
        }
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
        router.map(|(_, vertex)| Way::Gateway(vertex))
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
                Part::Router { .. } => {}
                Part::Node { sources, .. } => {
                    for source in sources {
                        let alike = to.iter().filter(|to| to.is_ipv4() == source.is_ipv4());
                        alike.for_each(|to| send(None, *source, *to));
                    }
                }
                Part::Outside { doors } => {
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
        flows.retain(|flow| !self.is_at_home(&tables, flow) && self.reach(&tables, None, flow) == Reach::All);
        flows
    }

    /// Whether the sender has the address itself.
    fn is_at_home(&self, tables: &Tables, flow: &Flow) -> bool {
        let vertex = self.vertex(&flow.from);
        vertex.is_some_and(|vertex| tables[vertex as usize].get(&IpNet::from(flow.to)) == Some(&Way::Own))
    }

    fn vertex(&self, name: &str) -> Option<u32> {
        (0..).zip(&self.subject.graph.vertices).find(|(_, vertex)| vertex.name == name).map(|(nth, _)| nth)
    }

    /// Whether packets of a flow come back.
    fn reach(&self, tables: &Tables, failure: Option<Failure>, flow: &Flow) -> Reach {
        let walk = Walk { foreseen: self, tables, failure };
        let Some(start) = self.vertex(flow.door.as_deref().unwrap_or(&flow.from)) else { return Reach::None };
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
            false => Reach::None,
            true if there.lost || back.iter().any(|arrival| arrival.lost) => Reach::Some,
            true => Reach::All,
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

/// Where packets end.
#[derive(Default)]
struct Arrival {
    /// Those who have the address.
    at: BTreeSet<u32>,
    /// Whether some ways end elsewhere.
    lost: bool,
}

struct Walk<'w> {
    foreseen: &'w Foreseen<'w>,
    tables: &'w Tables,
    failure: Option<Failure>,
}

impl Walk<'_> {
    /// Where packets to an address end that start somewhere.
    fn from(&self, start: u32, to: IpAddr) -> Arrival {
        let mut arrival = Arrival::default();
        self.step(start, to, &mut Vec::new(), &mut arrival, &|_| false);
        arrival
    }

    /// Where packets to the outside end: every router is on its network.
    fn outward(&self, start: u32, to: IpAddr) -> Arrival {
        let mut arrival = Arrival::default();
        let nodes = self.foreseen.subject.graph.nodes;
        self.step(start, to, &mut Vec::new(), &mut arrival, &|vertex| vertex as usize >= nodes);
        arrival
    }

    /// Someone's way to an address, by the longest prefix.
    fn longest(&self, at: u32, to: IpAddr) -> Option<(IpNet, &Way)> {
        let table = &self.tables[at as usize];
        let whole = IpNet::from(to);
        if let Some(way) = table.get(&whole) {
            return Some((whole, way));
        }
        let routes = table.iter().filter(|(net, _)| net.contains(&to));
        routes.max_by_key(|(net, _)| net.prefix_len()).map(|(net, way)| (*net, way))
    }

    fn step(
        &self,
        at: u32,
        to: IpAddr,
        passed: &mut Vec<u32>,
        arrival: &mut Arrival,
        is_there: &dyn Fn(u32) -> bool,
    ) {
        if self.failure == Some(Failure::Vertex(at)) || passed.contains(&at) {
            arrival.lost = true;
            return;
        }
        if is_there(at) {
            arrival.at.insert(at);
            return;
        }
        let next: &[u32] = match self.longest(at, to) {
            Some((net, Way::Own)) if net.prefix_len() == net.max_prefix_len() => {
                arrival.at.insert(at);
                return;
            }
            // An aggregate of its own, and no part of it.
            None | Some((_, Way::Own)) => &[],
            Some((_, Way::By(next))) => next,
            Some((_, Way::Gateway(router))) => std::slice::from_ref(router),
        };
        arrival.lost |= next.is_empty();
        passed.push(at);
        for far in next {
            self.step(*far, to, passed, arrival, is_there);
        }
        passed.pop();
    }
}

/// Which sessions of the proof those of the scene are, by the names at their ends: of several between two, in their order.
fn meant(subject: &Subject, scene: &Scene) -> Vec<Meant> {
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
            (Some(node), _) => Meant::Speaker(*node),
            (None, Some(edge)) => Meant::Edge(*edge),
            (None, None) => Meant::Never,
        });
    }
    all
}

/// Everything that is announced: of services what the speakers of the scene announce.
fn destinations(subject: &Subject, plan: &Plan, scene: &Scene) -> Vec<Destination> {
    let own = subject.destinations.iter().filter(|target| !matches!(target.kind, Kind::Service(_)));
    let mut all: Vec<Destination> = own.cloned().collect();
    let mut announced: BTreeMap<IpNet, Vec<Origin>> = BTreeMap::new();
    for (vertex, model) in (0..).zip(&subject.network.nodes) {
        let machine = scene.machines.iter().find(|machine| machine.name == model.name.as_str());
        let Some(Part::Node { speaker: Some(speaker), .. }) = machine.map(|machine| &machine.part) else {
            continue;
        };
        let Some(workload) = &model.workload else { continue };
        if subject.speaker_faults[vertex as usize].is_some() {
            continue;
        }
        for net in &speaker.announces {
            if let Ok(asn) = given(workload, *net) {
                let silent = aggregate::is_covered(model, *net);
                let origin = Origin { vertex, source: Source::Speaker(asn), silent };
                announced.entry(*net).or_default().push(origin);
            }
        }
    }
    for (net, origins) in announced {
        let holds =
            |prefixes: &[crate::plan::Decided<IpNet>]| prefixes.iter().any(|pool| pool.value.contains(&net));
        let pool = plan.cluster.pools.iter().find(|(_, prefixes)| holds(prefixes));
        let kind = Kind::Service(pool.map(|(name, _)| name.to_string()).unwrap_or_default());
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
mod tests {
    use super::*;
    use crate::cluster::section::Backend;
    use crate::lab::scene::{Door, Machine, Session, SessionEnd, Speaker};
    use crate::model::Cluster;
    use crate::plan::tests::planned_with;

    const RACK: &str = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
         network: {node: null, loopback: {v4: 10.0.0.0/26, v6: null}, services: {pools: {default: [198.51.100.0/24]}}}\n\
         fabric: {routers: [{name: leaf1, asn: 65101}, {name: leaf2, asn: 65102}, {name: spine1, asn: 65200, role: spine}]}\n\
         routing: {backend: frr, asn: 65000, workload: {speaker: metallb},\n\
         \x20 neighbors: [{router: leaf1, link: fab0, bfd: true}, {router: leaf2, link: fab1, bfd: true}]}\n\
         defaults: {ports: [fab0, fab1]}\n\
         nodes: [{name: cp1, index: 1, macs: [\"02:00:00:00:00:01\", \"02:00:00:00:00:02\"]},\n\
         \x20 {name: cp2, index: 2, macs: [\"02:00:00:00:00:03\", \"02:00:00:00:00:04\"]}]";

    /// What is asked of a scene here: who announces what, and who sends from where.
    fn scene(subject: &Subject) -> Scene {
        let node = |name: &str, source: &str, announces: &[&str]| Machine {
            name: name.to_owned(),
            part: Part::Node {
                backend: Backend::Frr,
                agent: String::new(),
                health: None,
                speaker: Some(Speaker {
                    name: "metallb".to_owned(),
                    conf: String::new(),
                    announces: announces.iter().map(|net| net.parse().unwrap()).collect(),
                    refused: Vec::new(),
                }),
                sources: vec![source.parse().unwrap()],
            },
            vrfs: Vec::new(),
            dummies: Vec::new(),
            addresses: Vec::new(),
            ports: Vec::new(),
            gateways: Vec::new(),
        };
        let door = |router: &str, source: &str| Door {
            router: router.to_owned(),
            through: Vec::new(),
            sources: vec![source.parse().unwrap()],
        };
        let mut outside = node("outside", "198.18.0.1", &[]);
        outside.part =
            Part::Outside { doors: vec![door("leaf1", "198.18.0.1"), door("spine1", "198.18.0.2")] };
        let end = |name: &str| SessionEnd { name: name.to_owned(), peer: String::new() };
        let session =
            |one: &str, other: &str| Session { one: end(one), other: end(other), bfd: true, fault: None };
        let network = &subject.network;
        let mut sessions: Vec<Session> =
            network.sessions.iter().map(|of| session(network.name(of.0), network.name(of.1))).collect();
        sessions.push(session("cp1", "cp1:metallb"));
        sessions.push(session("cp2", "cp2:metallb"));
        Scene {
            cluster: "a".to_owned(),
            machines: vec![
                node("cp1", "10.0.0.1", &["198.51.100.1/32", "198.51.100.11/32"]),
                node("cp2", "10.0.0.2", &["198.51.100.1/32", "198.51.100.12/32"]),
                outside,
            ],
            cables: Vec::new(),
            sessions,
            differs: Vec::new(),
        }
    }

    fn subject((cluster, plan): &(Cluster, Plan)) -> Subject {
        Subject::of(cluster, plan).unwrap()
    }

    fn paths(state: &State, who: &str, net: &str) -> Option<Paths> {
        state.routes.get(who)?.get(&net.parse::<IpNet>().unwrap()).copied()
    }

    #[test]
    fn while_nothing_fails_everyone_has_everything_over_all_paths() {
        let planned = planned_with(RACK);
        let subject = subject(&planned);
        let scene = scene(&subject);
        let foreseen = Foreseen::of(&subject, &planned.1, &scene);

        let state = foreseen.state(None);

        assert_eq!(paths(&state, "leaf1", "10.0.0.1/32"), Some(Paths::By(1)));
        assert_eq!(paths(&state, "spine1", "10.0.0.1/32"), Some(Paths::By(2)));
        assert_eq!(paths(&state, "cp1", "10.0.0.1/32"), Some(Paths::Own));
        assert_eq!(paths(&state, "cp1", "0.0.0.0/0"), Some(Paths::By(2)));
        // Of both nodes the one, of one node the other.
        assert_eq!(paths(&state, "leaf1", "198.51.100.1/32"), Some(Paths::By(2)));
        assert_eq!(paths(&state, "leaf1", "198.51.100.12/32"), Some(Paths::By(1)));
        assert_eq!(paths(&state, "leaf1", "0.0.0.0/0"), None);
        assert!(state.sessions.iter().all(|up| *up), "{:?}", state.sessions);
        assert!(state.flows.iter().all(|reach| *reach == Reach::All));
    }

    #[test]
    fn packets_are_sent_by_nodes_and_through_every_door_and_to_nobodys_self() {
        let planned = planned_with(RACK);
        let subject = subject(&planned);
        let scene = scene(&subject);

        let foreseen = Foreseen::of(&subject, &planned.1, &scene);

        let of = |who: &str| {
            let flows = foreseen.flows.iter().filter(|flow| flow.who() == who);
            flows.map(|flow| flow.to.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of("cp1"), ["10.0.0.2", "198.51.100.12"]);
        assert_eq!(
            of("outside by spine1"),
            ["10.0.0.1", "10.0.0.2", "198.51.100.1", "198.51.100.11", "198.51.100.12"]
        );
    }

    #[test]
    fn without_a_leaf_half_of_the_paths_are_left_and_its_door_is_shut() {
        let planned = planned_with(RACK);
        let subject = subject(&planned);
        let scene = scene(&subject);
        let foreseen = Foreseen::of(&subject, &planned.1, &scene);
        let leaf = subject.failure("leaf1").unwrap();

        let state = foreseen.state(Some(leaf));

        assert!(state.gone.contains("leaf1") && !state.routes.contains_key("leaf1"));
        assert_eq!(paths(&state, "spine1", "10.0.0.1/32"), Some(Paths::By(1)));
        assert_eq!(paths(&state, "cp1", "0.0.0.0/0"), Some(Paths::By(1)));
        assert_eq!(state.sessions.iter().filter(|up| !**up).count(), 3);
        for (flow, reach) in foreseen.flows.iter().zip(&state.flows) {
            let shut = flow.door.as_deref() == Some("leaf1");
            assert_eq!(*reach, if shut { Reach::None } else { Reach::All }, "{flow:?}");
        }
    }

    #[test]
    fn without_a_speaker_its_own_address_is_gone_and_the_shared_one_has_a_path_less() {
        let planned = planned_with(RACK);
        let subject = subject(&planned);
        let scene = scene(&subject);
        let foreseen = Foreseen::of(&subject, &planned.1, &scene);

        let state = foreseen.state(subject.failure("cp1:metallb"));

        assert_eq!(paths(&state, "leaf1", "198.51.100.11/32"), None);
        assert_eq!(paths(&state, "leaf1", "198.51.100.1/32"), Some(Paths::By(1)));
        assert_eq!(state.sessions.iter().filter(|up| !**up).count(), 1);
        let silent: Vec<String> = foreseen
            .flows
            .iter()
            .zip(&state.flows)
            .filter(|(_, reach)| **reach == Reach::None)
            .map(|(flow, _)| flow.to.to_string())
            .collect();
        assert_eq!(silent, ["198.51.100.11"; 3]);
    }

    #[test]
    fn of_many_flows_some_to_each_destination_are_watched() {
        let flow = |from: usize, to: u8| Flow {
            from: from.to_string(),
            door: None,
            source: IpAddr::from([10, 0, 0, 1]),
            to: IpAddr::from([10, 0, 1, to]),
        };
        let flows: Vec<Flow> = (0..10).flat_map(|from| (0..4).map(move |to| flow(from, to))).collect();

        assert!(watched(&flows, 40).into_iter().all(|watched| watched));
        let some = watched(&flows, 9);
        for to in 0..4 {
            let to = IpAddr::from([10, 0, 1, to]);
            let of = flows.iter().zip(&some).filter(|(flow, watched)| **watched && flow.to == to);
            assert_eq!(of.map(|(flow, _)| flow.from.as_str()).collect::<Vec<_>>(), ["0", "5"]);
        }
        assert!(watched(&[], 9).is_empty());
    }

    #[test]
    fn a_silent_failure_is_over_by_bfd_or_when_nobody_keeps_it_any_more() {
        let planned = planned_with(RACK);
        let subject = subject(&planned);
        let scene = scene(&subject);
        let foreseen = Foreseen::of(&subject, &planned.1, &scene);

        let noticed = |name: &str| foreseen.noticed(subject.failure(name).unwrap());

        assert_eq!((noticed("cp1:fab0"), noticed("spine1")), (900, 9000));
        assert_eq!(foreseen.kept(subject.failure("cp1:fab0").unwrap()), 39_000);
    }
}
