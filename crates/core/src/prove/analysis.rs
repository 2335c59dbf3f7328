//! Reachability of destinations, without failures and after each of them.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::components::Components;
use super::destination::{Destination, DestinationKind, RouteSource};
use super::examples::Examples;
use super::failure::Failure;
use super::graph::{Graph, PREFERENCE};
use super::propagation::Propagation;
use super::text::{MissingRoutes, dropped_text, prefixes_text};

/// Where a destination is reachable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationReach {
    /// Kind of address.
    pub kind: DestinationKind,
    /// The prefixes.
    pub nets: Vec<IpNet>,
    /// The nodes that announce it.
    pub from: Vec<u32>,
    /// Number of routers with a route.
    pub routers: usize,
    /// Fewest and most equal-cost paths of a router.
    pub paths: (usize, usize),
    /// Length of the longest best path.
    pub longest: usize,
}

/// The effect of simultaneous failures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureOutcome {
    /// Unreachable although still connected.
    pub broken: Examples,
    /// Unreachable because it is disconnected.
    pub alone: Examples,
}

/// Failures to analyse.
#[derive(Clone, Debug)]
pub enum FailureScope {
    /// All of these simultaneously.
    Together(Vec<Failure>),
    /// Each of these on its own.
    Each {
        /// The failures.
        failures: Vec<Failure>,
        /// Whether to analyse every pair of them as well.
        pairs: bool,
    },
}

/// The results of an analysis.
#[derive(Clone, Debug, Default)]
pub struct FailureAnalysis {
    /// Reachability by destination.
    pub reaches: Vec<DestinationReach>,
    /// Destinations without a route on some or all routers.
    pub(crate) unreached: Examples,
    /// Destinations that nodes do not reach.
    pub(crate) unreached_by_nodes: Examples,
    /// Destinations that nodes reach only by a default route.
    pub(crate) default_only: Examples,
    /// Routers whose path leads through a node that does not originate the destination.
    pub transit: Examples,
    /// Nodes that prefer the fabric's route over their own speaker's.
    pub(crate) overridden_speakers: Examples,
    /// Destinations for which BGP does not converge.
    pub(crate) unstable: Examples,
    /// Packets that are dropped for lack of a route.
    pub(crate) dropped: Examples,
    /// Effects by set of failures; failures without effect are omitted.
    pub outcomes: BTreeMap<Vec<Failure>, FailureOutcome>,
}

impl FailureAnalysis {
    /// Adds the results for other destinations.
    pub fn join(&mut self, other: Self) {
        self.reaches.extend(other.reaches);
        self.unreached.join(other.unreached);
        self.unreached_by_nodes.join(other.unreached_by_nodes);
        self.default_only.join(other.default_only);
        self.transit.join(other.transit);
        self.overridden_speakers.join(other.overridden_speakers);
        self.unstable.join(other.unstable);
        self.dropped.join(other.dropped);
        for (failures, more) in other.outcomes {
            let outcome = self.outcomes.entry(failures).or_default();
            outcome.broken.join(more.broken);
            outcome.alone.join(more.alone);
        }
    }
}

/// Analyses some of `all` destinations, without and with failures.
pub fn analyse(
    graph: &Graph,
    all: &[Destination],
    some: &[Destination],
    scope: &FailureScope,
) -> FailureAnalysis {
    let mut study = FailureAnalysis::default();
    let mut propagation = Propagation::new(graph);
    for target in some {
        let mut view = DestinationAnalysis { graph, target, study: &mut study };
        if !propagation.converge(target) {
            view.study.unstable.add(|| format!("{}: {UNSTABLE}", prefixes_text(target)));
            continue;
        }
        match scope {
            FailureScope::Together(failures) => {
                propagation.with_failures(failures, |propagation| view.record_reachability(propagation));
                view.record_overridden_speakers(&mut propagation, failures);
            }
            FailureScope::Each { .. } => {
                view.record_reachability(&propagation);
                view.record_overridden_speakers(&mut propagation, &[]);
            }
        }
        if target.is_hidden() {
            view.record_missing_parts(all);
            continue;
        }
        match scope {
            FailureScope::Together(failures) => drop(view.apply(&mut propagation, failures)),
            FailureScope::Each { failures, pairs } => {
                let moved = view.apply_each(&mut propagation, failures);
                if *pairs {
                    view.apply_pairs(&mut propagation, failures, &moved);
                }
            }
        }
    }
    study
}

const UNSTABLE: &str = "BGP does not converge: two routes keep replacing each other";

/// Analysis of one destination.
struct DestinationAnalysis<'a> {
    graph: &'a Graph,
    target: &'a Destination,
    study: &'a mut FailureAnalysis,
}

impl DestinationAnalysis<'_> {
    /// Records reachability in the current state. A destination whose last origin has failed is not reported.
    fn record_reachability(&mut self, propagation: &Propagation<'_>) {
        let graph = self.graph;
        let origins: Vec<u32> = propagation.active_origins().collect();
        let missed = !self.target.is_hidden() && (!origins.is_empty() || self.target.origins.is_empty());
        let (mut least, mut most, mut longest, mut count) = (usize::MAX, 0, 0, 0);
        let mut missing = MissingRoutes::default();
        for router in graph.routers().filter(|router| graph.vertices[*router as usize].configured > 0) {
            if propagation.has(router) {
                let paths = propagation.next(router).len();
                (least, most, count) = (least.min(paths), most.max(paths), count + 1);
                longest = longest.max(propagation.length(router));
                report_transit(graph, self.target, propagation, router, &mut self.study.transit);
            } else if missed && !propagation.is_down(router) {
                missing.add(router);
            }
        }
        missing.report_unreachable(graph, self.target, propagation, &mut self.study.unreached);
        if missed {
            self.record_nodes(propagation);
        }
        let least = if count == 0 { 0 } else { least };
        self.study.reaches.push(DestinationReach {
            kind: self.target.kind.clone(),
            nets: self.target.nets.clone(),
            from: origins,
            routers: count,
            paths: (least, most),
            longest,
        });
    }

    /// Records nodes that prefer the fabric's route over their own speaker's. That depends on the order of the announcements, so the check
    /// is whether the node receives such a route while its speaker is down.
    fn record_overridden_speakers(&mut self, propagation: &mut Propagation<'_>, failures: &[Failure]) {
        let (graph, target) = (self.graph, self.target);
        let preferring = target.origins.iter().filter(|origin| {
            let preference = graph.vertices[origin.vertex as usize].preference;
            matches!(origin.source, RouteSource::Speaker(_)) && preference > PREFERENCE
        });
        for node in preferring.map(|origin| origin.vertex) {
            let speaker_down = [failures, &[Failure::Speaker(node)]].concat();
            propagation.with_failures(&speaker_down, |propagation| {
                if propagation.overrides_speaker(node) && !failures.contains(&Failure::Speaker(node)) {
                    let name = &graph.vertices[node as usize].name;
                    self.study.overridden_speakers.add(|| {
                        format!("{name} prefers the fabric's route to {} over its own speaker's, and does not announce it", prefixes_text(target))
                    });
                }
            });
        }
    }

    /// Records whether nodes without a route reach the destination by a default route.
    fn record_nodes(&mut self, propagation: &Propagation<'_>) {
        let (graph, target) = (self.graph, self.target);
        let (mut unreachable, mut default_only) = (MissingRoutes::default(), MissingRoutes::default());
        for node in
            (0..).take(graph.nodes).filter(|node| !propagation.has(*node) && !propagation.is_down(*node))
        {
            match default_route_reach(graph, target, propagation, node) {
                DefaultRouteReach::All => default_only.add(node),
                DefaultRouteReach::Some(router) => {
                    self.study.dropped.add(|| dropped_text(graph, target, node, router));
                }
                DefaultRouteReach::None => unreachable.add(node),
            }
        }
        unreachable.report_unreachable(graph, target, propagation, &mut self.study.unreached_by_nodes);
        default_only.report_default_only(graph, target, propagation, &mut self.study.default_only);
    }

    /// Records nodes that announce an aggregate without having this part of it.
    fn record_missing_parts(&mut self, all: &[Destination]) {
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
                        prefixes_text(target),
                        prefixes_text(aggregate)
                    )
                });
            }
        }
    }

    /// Applies each failure on its own. Returns which of them change a route that is passed on.
    fn apply_each(&mut self, propagation: &mut Propagation<'_>, failures: &[Failure]) -> Vec<bool> {
        let target = self.target;
        failures
            .iter()
            .map(|failure| target.notices(*failure) && self.apply(propagation, &[*failure]))
            .collect()
    }

    /// Applies every pair of failures that can have more effect together than apart: one of them changes a route that is passed
    /// on, or both concern the same node. Other pairs leave these routes unchanged, and nodes depend on no others.
    fn apply_pairs(&mut self, propagation: &mut Propagation<'_>, failures: &[Failure], moved: &[bool]) {
        let noticed: Vec<(Failure, bool)> = failures
            .iter()
            .copied()
            .zip(moved.iter().copied())
            .filter(|(failure, _)| self.target.notices(*failure))
            .collect();
        for (nth, (one, _)) in noticed.iter().enumerate().filter(|(_, (_, moves))| *moves) {
            for (other, (far, moves)) in noticed.iter().enumerate() {
                // A pair in which both change a route occurs twice.
                if other != nth && (other > nth || !moves) {
                    self.apply(propagation, &[*one, *far]);
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
                    self.apply(propagation, &[*one, *other]);
                }
            }
        }
    }

    /// Applies failures simultaneously. Returns whether they change a route that is passed on.
    fn apply(&mut self, propagation: &mut Propagation<'_>, together: &[Failure]) -> bool {
        let (graph, target) = (self.graph, self.target);
        let mut outcome = FailureOutcome::default();
        let mut moved = false;
        let converged = propagation.with_failures(together, |propagation| {
            moved = propagation.changes_passed_routes();
            if moved && graph.has_transit() {
                for router in graph.routers() {
                    report_transit(graph, target, propagation, router, &mut outcome.broken);
                }
            }
            let lost = propagation.lost();
            if lost.is_empty() || propagation.active_origins().next().is_none() {
                return;
            }
            let components = Components::find(graph, propagation);
            for vertex in lost {
                outcome.record_loss(graph, target, propagation, &components, vertex);
            }
        });
        if !converged {
            outcome.broken.add(|| format!("{}: {UNSTABLE}", prefixes_text(target)));
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

    /// Records a node or router that has lost its route.
    fn record_loss(
        &mut self,
        graph: &Graph,
        target: &Destination,
        propagation: &Propagation<'_>,
        components: &Components,
        vertex: u32,
    ) {
        let at = &graph.vertices[vertex as usize];
        let default_route = if at.node {
            default_route_reach(graph, target, propagation, vertex)
        } else {
            DefaultRouteReach::None
        };
        match default_route {
            DefaultRouteReach::All => {}
            DefaultRouteReach::Some(router) => {
                self.broken.add(|| dropped_text(graph, target, vertex, router));
            }
            DefaultRouteReach::None => {
                let connected = components.connect(graph, propagation, vertex);
                let tally = if connected { &mut self.broken } else { &mut self.alone };
                tally.add(|| format!("{} no longer reaches {}", at.name, prefixes_text(target)));
            }
        }
        if !at.node {
            self.record_dropped_defaults(graph, target, propagation, components, vertex);
        }
    }

    /// Records nodes whose only route is a default route to this router, which has lost its route while the destination is
    /// still connected.
    fn record_dropped_defaults(
        &mut self,
        graph: &Graph,
        target: &Destination,
        propagation: &Propagation<'_>,
        components: &Components,
        router: u32,
    ) {
        for (edge, far) in &graph.vertices[router as usize].edges {
            let node = &graph.vertices[*far as usize];
            let only_default = node.node && propagation.is_up(*edge) && !propagation.has(*far);
            if only_default
                && matches!(default_route_reach(graph, target, propagation, *far), DefaultRouteReach::Some(_))
                && components.connect(graph, propagation, *far)
            {
                self.broken.add(|| dropped_text(graph, target, *far, router));
            }
        }
    }
}

/// Records the nodes that a router's path leads through.
fn report_transit(
    graph: &Graph,
    target: &Destination,
    propagation: &Propagation<'_>,
    router: u32,
    tally: &mut Examples,
) {
    let far = |edge: u32| graph.edges[edge as usize].other(router);
    let is_transit = |node: &u32| graph.vertices[*node as usize].node && !propagation.is_own(*node);
    for node in propagation.next(router).into_iter().map(far).filter(is_transit) {
        let name = |vertex: u32| &graph.vertices[vertex as usize].name;
        tally.add(|| format!("{} reaches {} through {}", name(router), prefixes_text(target), name(node)));
    }
}

/// Whether default routes lead to a destination.
enum DefaultRouteReach {
    /// All of them lead to a router with a route.
    All,
    /// One of them leads to this router without a route.
    Some(u32),
    /// None of them does.
    None,
}

fn default_route_reach(
    graph: &Graph,
    target: &Destination,
    propagation: &Propagation<'_>,
    node: u32,
) -> DefaultRouteReach {
    let defaults = graph.defaults(node, target.family()).filter(|(edge, _)| propagation.is_up(*edge));
    let routers: Vec<u32> = defaults.map(|(_, router)| router).collect();
    match routers.iter().find(|router| !propagation.has(**router)) {
        _ if routers.iter().all(|router| !propagation.has(*router)) => DefaultRouteReach::None,
        Some(without) => DefaultRouteReach::Some(*without),
        None => DefaultRouteReach::All,
    }
}
