//! Propagation of one destination over the fabric, and the effect of failures.
//!
//! A [`Propagation`] has the best route of every node and router to one [`Destination`]. [`Propagation::converge`] runs BGP until
//! it converges; [`Propagation::with_failures`] applies failures, runs it again, calls a function on the result and restores
//! the state. Only changes are recomputed.
//!
//! Routes are compared as in BGP: local preference, length of the AS path, eBGP before iBGP; equal ones are used as multipath.
//! Of equal routes the one from the lowest router ID is passed on. A real daemon may prefer the oldest instead, which results
//! in other paths of the same length.
//! the same length.

use std::collections::VecDeque;

use super::destination::{Destination, Originator, RouteSource};
use super::failure::Failure;
use super::graph::{CommunityEffects, Graph, PREFERENCE};

/// No route.
const NONE: u32 = u32::MAX;
/// The vertex originates the destination.
const LOCAL: u32 = u32::MAX - 1;
/// The route comes from the vertex's speaker.
const SPEAKER: u32 = u32::MAX - 2;

/// The best route of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BestRoute {
    /// The session it was received over, or one of the numbers above.
    via: u32,
    /// Its AS path, in [`Propagation::paths`].
    path: u32,
    length: u32,
    preference: u32,
    effects: CommunityEffects,
    /// Whether it is not passed on, because an aggregate covers it.
    aggregated: bool,
    /// Whether it was received over iBGP.
    internal: bool,
}

const NO_ROUTE: BestRoute = BestRoute {
    via: NONE,
    path: NONE,
    length: 0,
    preference: 0,
    effects: CommunityEffects { no_export: false, graceful_shutdown: false },
    aggregated: false,
    internal: false,
};

/// One AS on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PathHop {
    asn: u32,
    /// Number of additional prepends.
    prepend: u8,
    /// The rest of the path.
    rest: u32,
}

impl BestRoute {
    fn is_own(&self) -> bool {
        matches!(self.via, LOCAL | SPEAKER)
    }

    /// Sort key: better routes first.
    fn rank(&self) -> (u32, u32, bool) {
        (u32::MAX - self.preference, self.length, self.internal)
    }
}

/// Why a vertex accepts no route over a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RejectReason {
    /// The session does not carry the family.
    Family,
    /// The neighbour has no route.
    NoRoute,
    /// The neighbour announces only its own routes.
    NoTransit,
    /// The neighbour received it over iBGP in the AS of both.
    Internal,
    /// The neighbour announces an aggregate instead.
    Aggregated,
    /// A community prevents the neighbour from passing it on.
    Community,
    /// The vertex's AS number is in the path.
    Loop,
    /// The import filter rejects it.
    Filter,
}

/// The routes of all vertices to one destination.
pub struct Propagation<'g> {
    graph: &'g Graph,
    target: Option<&'g Destination>,
    best: Vec<BestRoute>,
    /// By vertex: whether it originates the destination.
    own: Vec<bool>,
    /// AS paths, each by its first hop.
    paths: Vec<PathHop>,
    queue: VecDeque<u32>,
    is_queued: Vec<bool>,
    /// Routes replaced since the last [`Propagation::converge`].
    before: Vec<(u32, BestRoute)>,
    down: FailureState,
}

/// The failed components.
struct FailureState {
    vertices: Vec<bool>,
    edges: Vec<bool>,
    speakers: Vec<bool>,
}

impl<'g> Propagation<'g> {
    /// Creates an empty state without a destination.
    pub fn new(graph: &'g Graph) -> Self {
        let count = graph.vertices.len();
        Self {
            graph,
            target: None,
            best: vec![NO_ROUTE; count],
            own: vec![false; count],
            paths: Vec::new(),
            queue: VecDeque::new(),
            is_queued: vec![false; count],
            before: Vec::new(),
            down: FailureState {
                vertices: vec![false; count],
                edges: vec![false; graph.edges.len()],
                speakers: vec![false; count],
            },
        }
    }

    /// Propagates a destination until BGP converges. Returns whether it does.
    pub fn converge(&mut self, target: &'g Destination) -> bool {
        if let Some(last) = self.target.replace(target) {
            last.origins.iter().for_each(|origin| self.own[origin.vertex as usize] = false);
        }
        self.best.fill(NO_ROUTE);
        self.paths.clear();
        for origin in &target.origins {
            self.own[origin.vertex as usize] = true;
            self.enqueue(origin.vertex);
        }
        let converged = self.run();
        self.before.clear();
        converged
    }

    /// Applies failures, runs BGP, calls `look`, and restores the state. Returns whether BGP converged.
    pub fn with_failures(&mut self, failures: &[Failure], mut look: impl FnMut(&mut Self)) -> bool {
        let known = self.paths.len();
        for failure in failures {
            self.set(*failure, true);
        }
        for failure in failures {
            self.enqueue_affected(*failure);
        }
        let converged = self.run();
        look(self);
        for (vertex, route) in std::mem::take(&mut self.before).into_iter().rev() {
            self.best[vertex as usize] = route;
        }
        for failure in failures {
            self.set(*failure, false);
        }
        self.paths.truncate(known);
        converged
    }

    /// Whether a vertex has a route.
    pub fn has(&self, vertex: u32) -> bool {
        self.best[vertex as usize].via != NONE
    }

    /// Whether the best route of a vertex is its own or its speaker's.
    pub fn is_own(&self, vertex: u32) -> bool {
        self.best[vertex as usize].is_own()
    }

    /// Whether a vertex has a route from a neighbour that it prefers over its own speaker's.
    pub(crate) fn overrides_speaker(&self, vertex: u32) -> bool {
        let best = self.best[vertex as usize];
        best.via != NONE && !best.is_own() && best.preference > PREFERENCE
    }

    /// Whether a vertex has failed.
    pub(crate) fn is_down(&self, vertex: u32) -> bool {
        self.down.vertices[vertex as usize]
    }

    /// Whether a session is up.
    pub fn is_up(&self, edge: u32) -> bool {
        let ends = self.graph.edges[edge as usize].ends;
        !self.down.edges[edge as usize] && !self.is_down(ends.0) && !self.is_down(ends.1)
    }

    /// The vertices that still originate the destination.
    pub(crate) fn active_origins(&self) -> impl Iterator<Item = u32> {
        let origins = self.target.into_iter().flat_map(|target| &target.origins);
        origins.filter(|origin| !origin.aggregated && self.is_active(origin)).map(|origin| origin.vertex)
    }

    /// Whether a route that is passed on has changed since convergence.
    pub(crate) fn changes_passed_routes(&self) -> bool {
        self.before.iter().any(|(vertex, _)| self.graph.vertices[*vertex as usize].passes_on)
    }

    /// Vertices that lost their route through failures, without the failed ones.
    pub fn lost(&self) -> Vec<u32> {
        let mut changed: Vec<(u32, usize)> =
            self.before.iter().zip(0..).map(|((vertex, _), nth)| (*vertex, nth)).collect();
        changed.sort_unstable();
        // The first change of a vertex has its original route.
        changed.dedup_by_key(|(vertex, _)| *vertex);
        let had = |nth: usize| self.before[nth].1.via != NONE;
        changed
            .into_iter()
            .filter(|(vertex, nth)| had(*nth) && !self.has(*vertex) && !self.is_down(*vertex))
            .map(|(vertex, _)| vertex)
            .collect()
    }

    /// Whether a vertex had a route before the failures.
    pub(crate) fn had(&self, vertex: u32) -> bool {
        let first = self.before.iter().find(|(changed, _)| *changed == vertex);
        first.map_or_else(|| self.has(vertex), |(_, route)| route.via != NONE)
    }

    /// The sessions over which a vertex received its equal best routes.
    pub fn next(&self, vertex: u32) -> Vec<u32> {
        let best = self.best[vertex as usize];
        if best.via == NONE || best.is_own() {
            return Vec::new();
        }
        let edges = self.graph.vertices[vertex as usize].edges.iter();
        let offers = edges.filter_map(|(edge, _)| self.offer(*edge, vertex).ok());
        offers.filter(|offer| offer.rank() == best.rank()).map(|offer| offer.via).collect()
    }

    /// Length of the best AS path of a vertex, with prepends.
    pub fn length(&self, vertex: u32) -> usize {
        usize::try_from(self.best[vertex as usize].length).unwrap_or(usize::MAX)
    }

    /// The best AS path of a vertex.
    pub fn path(&self, vertex: u32) -> Vec<u32> {
        let best = self.best[vertex as usize];
        let mut numbers = Vec::new();
        let mut at = best.path;
        while let Some(hop) = self.paths.get(at as usize) {
            numbers.extend(std::iter::repeat_n(hop.asn, 1 + usize::from(hop.prepend)));
            at = hop.rest;
        }
        numbers
    }

    /// Whether a vertex accepts a route from any neighbour, even if it is not the best.
    pub(crate) fn receives_route(&self, vertex: u32) -> bool {
        let edges = &self.graph.vertices[vertex as usize].edges;
        edges.iter().any(|(edge, _)| self.offer(*edge, vertex).is_ok())
    }

    /// Why a vertex accepts no route over a session; none if it accepts one.
    pub(crate) fn reject_reason(&self, edge: u32, to: u32) -> Option<RejectReason> {
        self.offer(edge, to).err()
    }

    fn set(&mut self, failure: Failure, down: bool) {
        match failure {
            Failure::Vertex(vertex) => self.down.vertices[vertex as usize] = down,
            Failure::Link(_) | Failure::Between(..) => {
                for edge in failure.edges(self.graph).iter() {
                    self.down.edges[*edge as usize] = down;
                }
            }
            Failure::Speaker(node) => self.down.speakers[node as usize] = down,
        }
    }

    fn enqueue_affected(&mut self, failure: Failure) {
        let graph = self.graph;
        match failure {
            Failure::Link(_) | Failure::Between(..) => {
                for edge in failure.edges(graph).iter() {
                    let ends = graph.edges[*edge as usize].ends;
                    self.enqueue(ends.0);
                    self.enqueue(ends.1);
                }
            }
            Failure::Vertex(vertex) => {
                self.enqueue(vertex);
                for (_, far) in &graph.vertices[vertex as usize].edges {
                    self.enqueue(*far);
                }
            }
            Failure::Speaker(node) => self.enqueue(node),
        }
    }

    fn enqueue(&mut self, vertex: u32) {
        if !std::mem::replace(&mut self.is_queued[vertex as usize], true) {
            self.queue.push_back(vertex);
        }
    }

    /// Processes the queue. Returns whether BGP converges within a limit of steps.
    fn run(&mut self) -> bool {
        let graph = self.graph;
        let mut left = 64 * (graph.vertices.len() + graph.edges.len() + 16);
        while let Some(vertex) = self.queue.pop_front() {
            self.is_queued[vertex as usize] = false;
            let old = self.best[vertex as usize];
            let new = self.select_best(vertex);
            if new == old {
                continue;
            }
            if left == 0 {
                self.queue.drain(..).for_each(|vertex| self.is_queued[vertex as usize] = false);
                return false;
            }
            left -= 1;
            self.before.push((vertex, old));
            self.best[vertex as usize] = new;
            let passes_on = graph.vertices[vertex as usize].passes_on || old.is_own() || new.is_own();
            if passes_on {
                for (_, far) in &graph.vertices[vertex as usize].edges {
                    self.enqueue(*far);
                }
            }
        }
        true
    }

    fn is_active(&self, origin: &Originator) -> bool {
        let without_speaker = origin.needs_speaker() && self.down.speakers[origin.vertex as usize];
        !without_speaker && !self.is_down(origin.vertex)
    }

    /// Selects the best of the routes that a vertex currently receives.
    fn select_best(&mut self, vertex: u32) -> BestRoute {
        if self.is_down(vertex) {
            return NO_ROUTE;
        }
        let mut best = self.own_route(vertex);
        if best.via == LOCAL {
            return best;
        }
        let mut sender = NONE;
        for (edge, far) in self.candidates(vertex) {
            let Ok(offer) = self.offer(edge, vertex) else { continue };
            let id = self.graph.vertices[far as usize].id;
            if best.via == NONE || (offer.rank(), id) < (best.rank(), sender) {
                (best, sender) = (offer, id);
            }
        }
        if best.via != NONE && !best.is_own() {
            best.path = self.extend_path(vertex, best.via);
        }
        best
    }

    fn own_route(&mut self, vertex: u32) -> BestRoute {
        if !self.own[vertex as usize] {
            return NO_ROUTE;
        }
        let origins = self.target.into_iter().flat_map(|target| &target.origins);
        let mut of_vertex = origins.filter(|origin| origin.vertex == vertex);
        let Some(origin) = of_vertex.find(|origin| self.is_active(origin)) else {
            return NO_ROUTE;
        };
        let route = BestRoute { preference: PREFERENCE, aggregated: origin.aggregated, ..NO_ROUTE };
        let RouteSource::Speaker(asn) = origin.source else { return BestRoute { via: LOCAL, ..route } };
        let old = self.best[vertex as usize];
        let known = old.via == SPEAKER;
        let path = if known { old.path } else { self.push_path(PathHop { asn, prepend: 0, rest: NONE }) };
        BestRoute { via: SPEAKER, length: 1, path, ..route }
    }

    /// Sessions over which a vertex may receive a route: most nodes announce only their own.
    fn candidates(&self, vertex: u32) -> Vec<(u32, u32)> {
        let graph = self.graph;
        let edges = &graph.vertices[vertex as usize].edges;
        if graph.vertices[vertex as usize].node {
            return edges.clone();
        }
        let Some(target) = self.target.filter(|target| target.origins.len() * 2 < edges.len()) else {
            let may = |far: u32| graph.vertices[far as usize].passes_on || self.own[far as usize];
            return edges.iter().filter(|(_, far)| may(*far)).copied().collect();
        };
        let of_origins = target.origins.iter().flat_map(|origin| {
            let sessions = graph.vertices[origin.vertex as usize].edges.iter();
            let known = graph.vertices[origin.vertex as usize].passes_on;
            sessions.filter(move |(_, far)| *far == vertex && !known).map(|(edge, _)| (*edge, origin.vertex))
        });
        graph.vertices[vertex as usize].transit_edges.iter().copied().chain(of_origins).collect()
    }

    /// The AS path over a session; an equal known path is reused.
    fn extend_path(&mut self, vertex: u32, edge: u32) -> u32 {
        let far = self.graph.edges[edge as usize].other(vertex);
        let sender = &self.graph.vertices[far as usize];
        if sender.asn == self.graph.vertices[vertex as usize].asn {
            return self.best[far as usize].path;
        }
        let hop = PathHop { asn: sender.asn, prepend: sender.prepend, rest: self.best[far as usize].path };
        let old = self.best[vertex as usize].path;
        if self.paths.get(old as usize) == Some(&hop) { old } else { self.push_path(hop) }
    }

    fn push_path(&mut self, hop: PathHop) -> u32 {
        self.paths.push(hop);
        u32::try_from(self.paths.len() - 1).expect("fewer paths than 2^32")
    }

    /// The route that a vertex receives over a session, with the neighbour's path, or the reason why it accepts none.
    fn offer(&self, edge: u32, to: u32) -> Result<BestRoute, RejectReason> {
        let session = &self.graph.edges[edge as usize];
        let far = session.other(to);
        let route = self.best[far as usize];
        if route.via == NONE || route.via == edge || !self.is_up(edge) {
            return Err(RejectReason::NoRoute);
        }
        let target = self.target.ok_or(RejectReason::NoRoute)?;
        let (sender, receiver) = (&self.graph.vertices[far as usize], &self.graph.vertices[to as usize]);
        if !session.carries(target.family) {
            return Err(RejectReason::Family);
        }
        let internal = sender.asn == receiver.asn;
        if !sender.passes_on && !route.is_own() {
            return Err(RejectReason::NoTransit);
        }
        // Routes received over iBGP are not passed on over iBGP.
        if internal && route.internal {
            return Err(RejectReason::Internal);
        }
        if route.aggregated {
            return Err(RejectReason::Aggregated);
        }
        if !sender.node && route.effects.no_export && !internal {
            return Err(RejectReason::Community);
        }
        if self.path_contains(receiver.asn, route.path) {
            return Err(RejectReason::Loop);
        }
        if !target.passes[receiver.import_filter] && (receiver.node || sender.node) {
            return Err(RejectReason::Filter);
        }
        let effects = if sender.node { sender.effects } else { route.effects };
        let preference = if internal && receiver.preference == PREFERENCE {
            route.preference
        } else {
            receiver.preference
        };
        Ok(BestRoute {
            via: edge,
            path: route.path,
            length: route.length + u32::from(!internal) + u32::from(sender.prepend),
            // RFC 8326, 4: this overrides the receiver's preference.
            preference: if effects.graceful_shutdown { 0 } else { preference },
            effects,
            aggregated: false,
            internal,
        })
    }

    fn path_contains(&self, asn: u32, path: u32) -> bool {
        let mut at = path;
        while let Some(hop) = self.paths.get(at as usize) {
            if hop.asn == asn {
                return true;
            }
            at = hop.rest;
        }
        false
    }
}
