//! What becomes of some destinations: now, and after each failure.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::destination::{Destination, DestinationKind, RouteSource};
use super::failure::Failure;
use super::graph::{Graph, PREFERENCE};
use super::island::Components;
use super::sentence::{MissingRoutes, dropped, named};
use super::spread::Propagation;
use super::tally::Examples;

/// How far a destination spreads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationReach {
    /// What kind of address it is.
    pub kind: DestinationKind,
    /// The prefixes.
    pub nets: Vec<IpNet>,
    /// The nodes that announce it.
    pub from: Vec<u32>,
    /// How many routers have a route.
    pub routers: usize,
    /// Over how many paths at once: the least and the most of them.
    pub paths: (usize, usize),
    /// Length of the longest best path.
    pub longest: usize,
}

/// What a set of failures at once does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureOutcome {
    /// Lost although a way is left.
    pub broken: Examples,
    /// Lost because there is no other way.
    pub alone: Examples,
}

/// What shall fail.
#[derive(Clone, Debug)]
pub enum FailureScope {
    /// All of these at once.
    Together(Vec<Failure>),
    /// Each of these by itself.
    Each {
        /// What can fail.
        failures: Vec<Failure>,
        /// Whether also every two of them at once.
        pairs: bool,
    },
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct FailureAnalysis {
    /// By destination.
    pub reaches: Vec<DestinationReach>,
    /// Destinations that no router, or not every router, has.
    pub(crate) unreached: Examples,
    /// Destinations that nodes do not reach.
    pub(crate) apart: Examples,
    /// Destinations that nodes reach only because somebody gives them a default route.
    pub(crate) led: Examples,
    /// Routers whose way leads through a node that does not have the destination.
    pub through: Examples,
    /// Nodes that have a destination to give, and prefer another's way to it.
    pub(crate) outdone: Examples,
    /// Destinations for which BGP never comes to rest.
    pub(crate) restless: Examples,
    /// Packets that end where nobody has their destination.
    pub(crate) dropped: Examples,
    /// What failures take away, by what fails at once; those that take nothing are left out.
    pub outcomes: BTreeMap<Vec<Failure>, FailureOutcome>,
}

impl FailureAnalysis {
    /// Adds what was found of other destinations.
    pub fn join(&mut self, other: Self) {
        self.reaches.extend(other.reaches);
        self.unreached.join(other.unreached);
        self.apart.join(other.apart);
        self.led.join(other.led);
        self.through.join(other.through);
        self.outdone.join(other.outdone);
        self.restless.join(other.restless);
        self.dropped.join(other.dropped);
        for (failures, more) in other.outcomes {
            let outcome = self.outcomes.entry(failures).or_default();
            outcome.broken.join(more.broken);
            outcome.alone.join(more.alone);
        }
    }
}

/// Looks at some of `all` destinations, without and with failures.
pub fn study(
    graph: &Graph,
    all: &[Destination],
    some: &[Destination],
    scope: &FailureScope,
) -> FailureAnalysis {
    let mut study = FailureAnalysis::default();
    let mut spread = Propagation::new(graph);
    for target in some {
        let mut view = DestinationAnalysis { graph, target, study: &mut study };
        if !spread.settle(target) {
            view.study.restless.add(|| format!("{}: {UNSTABLE}", named(target)));
            continue;
        }
        match scope {
            FailureScope::Together(failures) => {
                spread.without(failures, |spread| view.now(spread));
                view.outdone(&mut spread, failures);
            }
            FailureScope::Each { .. } => {
                view.now(&spread);
                view.outdone(&mut spread, &[]);
            }
        }
        if target.is_hidden() {
            view.hidden(all);
            continue;
        }
        match scope {
            FailureScope::Together(failures) => drop(view.after(&mut spread, failures)),
            FailureScope::Each { failures, pairs } => {
                let moved = view.each(&mut spread, failures);
                if *pairs {
                    view.pairs(&mut spread, failures, &moved);
                }
            }
        }
    }
    study
}

const UNSTABLE: &str = "BGP does not converge: two routes keep replacing each other";

/// One destination, and where to write down what is seen.
struct DestinationAnalysis<'a> {
    graph: &'a Graph,
    target: &'a Destination,
    study: &'a mut FailureAnalysis,
}

impl DestinationAnalysis<'_> {
    /// As it is now. A destination that nobody has any more is not missed.
    fn now(&mut self, spread: &Propagation<'_>) {
        let graph = self.graph;
        let givers: Vec<u32> = spread.givers().collect();
        let missed = !self.target.is_hidden() && (!givers.is_empty() || self.target.origins.is_empty());
        let (mut least, mut most, mut longest, mut count) = (usize::MAX, 0, 0, 0);
        let mut missing = MissingRoutes::default();
        for router in graph.routers().filter(|router| graph.vertices[*router as usize].meant > 0) {
            if spread.has(router) {
                let paths = spread.next(router).len();
                (least, most, count) = (least.min(paths), most.max(paths), count + 1);
                longest = longest.max(spread.length(router));
                report_transit(graph, self.target, spread, router, &mut self.study.through);
            } else if missed && !spread.is_down(router) {
                missing.add(router);
            }
        }
        missing.tell_lost(graph, self.target, spread, &mut self.study.unreached);
        if missed {
            self.nodes(spread);
        }
        let least = if count == 0 { 0 } else { least };
        self.study.reaches.push(DestinationReach {
            kind: self.target.kind.clone(),
            nets: self.target.nets.clone(),
            from: givers,
            routers: count,
            paths: (least, most),
            longest,
        });
    }

    /// Speakers that are not heard because their node prefers what the fabric tells it. That depends on who announces first, so
    /// the question is what the node is told while its own speaker is silent.
    fn outdone(&mut self, spread: &mut Propagation<'_>, failures: &[Failure]) {
        let (graph, target) = (self.graph, self.target);
        let preferring = target.origins.iter().filter(|origin| {
            let preference = graph.vertices[origin.vertex as usize].preference;
            matches!(origin.source, RouteSource::Speaker(_)) && preference > PREFERENCE
        });
        for node in preferring.map(|origin| origin.vertex) {
            let silent = [failures, &[Failure::Speaker(node)]].concat();
            spread.without(&silent, |spread| {
                if spread.outdoes_speaker(node) && !failures.contains(&Failure::Speaker(node)) {
                    let name = &graph.vertices[node as usize].name;
                    self.study.outdone.add(|| {
                        format!("{name} prefers the fabric's route to {} over its own speaker's, and does not announce it", named(target))
                    });
                }
            });
        }
    }

    /// Of nodes without a route of their own: whether a default route brings them there.
    fn nodes(&mut self, spread: &Propagation<'_>) {
        let (graph, target) = (self.graph, self.target);
        let (mut apart, mut led) = (MissingRoutes::default(), MissingRoutes::default());
        for node in (0..).take(graph.nodes).filter(|node| !spread.has(*node) && !spread.is_down(*node)) {
            match default_route_reach(graph, target, spread, node) {
                DefaultRouteReach::All => led.add(node),
                DefaultRouteReach::Some(router) => {
                    self.study.dropped.add(|| dropped(graph, target, node, router))
                }
                DefaultRouteReach::None => apart.add(node),
            }
        }
        apart.tell_lost(graph, target, spread, &mut self.study.apart);
        led.tell_led(graph, target, spread, &mut self.study.led);
    }

    /// Of an address that an aggregate stands in for: whether the aggregate leads to it.
    fn hidden(&mut self, all: &[Destination]) {
        let target = self.target;
        let covers = |other: &&Destination| {
            other.kind == DestinationKind::Aggregate
                && other.nets.iter().any(|net| target.nets.iter().all(|own| net.contains(own)))
        };
        for aggregate in all.iter().filter(covers) {
            let has = |node: u32| target.origins.iter().any(|origin| origin.vertex == node);
            let count = aggregate.origins.iter().filter(|origin| !has(origin.vertex)).count();
            if count > 0 {
                self.study.dropped.add(|| {
                    format!(
                        "{}: announced only as part of {}, which {count} nodes without it announce, so they drop its packets",
                        named(target),
                        named(aggregate)
                    )
                });
            }
        }
    }

    /// With one thing after the other taken away. Says which of them changed a route that is passed on.
    fn each(&mut self, spread: &mut Propagation<'_>, failures: &[Failure]) -> Vec<bool> {
        let target = self.target;
        failures.iter().map(|failure| target.notices(*failure) && self.after(spread, &[*failure])).collect()
    }

    /// With every two things taken away that together can do more than each by itself: one of them changes what is passed on,
    /// or both are of one node. All else leaves what is passed on as it is, and nodes depend on nothing else.
    fn pairs(&mut self, spread: &mut Propagation<'_>, failures: &[Failure], moved: &[bool]) {
        let noticed: Vec<(Failure, bool)> = failures
            .iter()
            .copied()
            .zip(moved.iter().copied())
            .filter(|(failure, _)| self.target.notices(*failure))
            .collect();
        for (nth, (one, _)) in noticed.iter().enumerate().filter(|(_, (_, moves))| *moves) {
            for (other, (far, moves)) in noticed.iter().enumerate() {
                // Two that both change something are met twice.
                if other != nth && (other > nth || !moves) {
                    self.after(spread, &[*one, *far]);
                }
            }
        }
        let mut by_node: BTreeMap<u32, Vec<Failure>> = BTreeMap::new();
        for (failure, _) in noticed.iter().filter(|(_, moves)| !moves) {
            by_node.entry(failure.node(self.graph).unwrap_or(u32::MAX)).or_default().push(*failure);
        }
        by_node.remove(&u32::MAX);
        for of_node in by_node.values() {
            for (nth, one) in of_node.iter().enumerate() {
                for other in &of_node[nth + 1..] {
                    self.after(spread, &[*one, *other]);
                }
            }
        }
    }

    /// With something taken away. Says whether that changed a route that is passed on.
    fn after(&mut self, spread: &mut Propagation<'_>, together: &[Failure]) -> bool {
        let (graph, target) = (self.graph, self.target);
        let mut outcome = FailureOutcome::default();
        let mut moved = false;
        let settled = spread.without(together, |spread| {
            moved = spread.moves_others();
            if moved && graph.has_transit() {
                for router in graph.routers() {
                    report_transit(graph, target, spread, router, &mut outcome.broken);
                }
            }
            let lost = spread.lost();
            if lost.is_empty() || spread.givers().next().is_none() {
                return;
            }
            let islands = Components::of(graph, spread);
            for vertex in lost {
                outcome.lose(graph, target, spread, &islands, vertex);
            }
        });
        if !settled {
            outcome.broken.add(|| format!("{}: {UNSTABLE}", named(target)));
        }
        if !outcome.is_empty() {
            let known = self.study.outcomes.entry(together.to_vec()).or_default();
            known.broken.join(outcome.broken);
            known.alone.join(outcome.alone);
        }
        moved
    }
}

impl FailureOutcome {
    fn is_empty(&self) -> bool {
        self.broken.is_empty() && self.alone.is_empty()
    }

    /// Someone has lost its route.
    fn lose(
        &mut self,
        graph: &Graph,
        target: &Destination,
        spread: &Propagation<'_>,
        islands: &Components,
        vertex: u32,
    ) {
        let at = &graph.vertices[vertex as usize];
        let way = if at.node {
            default_route_reach(graph, target, spread, vertex)
        } else {
            DefaultRouteReach::None
        };
        match way {
            DefaultRouteReach::All => {}
            DefaultRouteReach::Some(router) => self.broken.add(|| dropped(graph, target, vertex, router)),
            DefaultRouteReach::None => {
                let connected = islands.connect(graph, spread, vertex);
                let tally = if connected { &mut self.broken } else { &mut self.alone };
                tally.add(|| format!("{} no longer reaches {}", at.name, named(target)));
            }
        }
        if !at.node {
            self.mislead(graph, target, spread, islands, vertex);
        }
    }

    /// Nodes that have nothing but a default route, to a router that has lost the destination while another still has it.
    fn mislead(
        &mut self,
        graph: &Graph,
        target: &Destination,
        spread: &Propagation<'_>,
        islands: &Components,
        router: u32,
    ) {
        for (edge, far) in &graph.vertices[router as usize].edges {
            let node = &graph.vertices[*far as usize];
            let only_default = node.node && spread.is_up(*edge) && !spread.has(*far);
            if only_default
                && matches!(default_route_reach(graph, target, spread, *far), DefaultRouteReach::Some(_))
                && islands.connect(graph, spread, *far)
            {
                self.broken.add(|| dropped(graph, target, *far, router));
            }
        }
    }
}

/// Of a router: whether its way leads through a node.
fn report_transit(
    graph: &Graph,
    target: &Destination,
    spread: &Propagation<'_>,
    router: u32,
    tally: &mut Examples,
) {
    let far = |edge: u32| graph.edges[edge as usize].other(router);
    let foreign = |node: &u32| graph.vertices[*node as usize].node && !spread.is_own(*node);
    for node in spread.next(router).into_iter().map(far).filter(foreign) {
        let name = |vertex: u32| &graph.vertices[vertex as usize].name;
        tally.add(|| format!("{} reaches {} through {}", name(router), named(target), name(node)));
    }
}

/// Where default routes bring a node.
enum DefaultRouteReach {
    /// To routers that all have the destination.
    All,
    /// Also to this router, which has not.
    Some(u32),
    /// Nowhere.
    None,
}

fn default_route_reach(
    graph: &Graph,
    target: &Destination,
    spread: &Propagation<'_>,
    node: u32,
) -> DefaultRouteReach {
    let given = graph.defaults(node, target.family()).filter(|(edge, _)| spread.is_up(*edge));
    let routers: Vec<u32> = given.map(|(_, router)| router).collect();
    match routers.iter().find(|router| !spread.has(**router)) {
        _ if routers.iter().all(|router| !spread.has(*router)) => DefaultRouteReach::None,
        Some(without) => DefaultRouteReach::Some(*without),
        None => DefaultRouteReach::All,
    }
}
