//! How one destination spreads over the fabric, and what a failure changes of it.
//!
//! A [`Spread`] holds the best route of everyone toward one [`Destination`]. [`Spread::settle`] lets BGP run until nothing
//! changes any more; [`Spread::without`] takes something away, lets it run again, has a look, and puts everything back. Only what
//! changes costs time.
//!
//! Routes are compared as BGP does: local preference, length of the path, and those from another AS before those from the own;
//! equal ones are used side by side. Of equal
//! routes the one from the lowest router id is passed on. A real daemon may keep the oldest instead: other paths then, of
//! the same length.

use std::collections::VecDeque;

use super::destination::{Destination, Originator, RouteSource};
use super::failure::Failure;
use super::graph::{CommunityEffects, Graph, PREFERENCE};

/// No route.
const NONE: u32 = u32::MAX;
/// The vertex has the address itself.
const LOCAL: u32 = u32::MAX - 1;
/// The vertex has it from its speaker.
const SPEAKER: u32 = u32::MAX - 2;

/// The best route of someone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BestRoute {
    /// The session it came by, or one of the numbers above.
    via: u32,
    /// Its AS path, in [`Spread::paths`].
    path: u32,
    length: u32,
    preference: u32,
    marks: CommunityEffects,
    /// Whether it is not passed on: an aggregate stands in for it.
    silent: bool,
    /// Whether it came from someone with the same AS number.
    internal: bool,
}

const NOTHING: BestRoute = BestRoute {
    via: NONE,
    path: NONE,
    length: 0,
    preference: 0,
    marks: CommunityEffects { kept: false, leaving: false },
    silent: false,
    internal: false,
};

/// One AS on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PathHop {
    asn: u32,
    /// How often it put itself in front once more.
    prepend: u8,
    /// The rest of the path.
    rest: u32,
}

impl BestRoute {
    fn is_own(&self) -> bool {
        matches!(self.via, LOCAL | SPEAKER)
    }

    /// Better routes first.
    fn rank(&self) -> (u32, u32, bool) {
        (u32::MAX - self.preference, self.length, self.internal)
    }
}

/// Why someone does not take a route over a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RejectReason {
    /// The session does not carry the family.
    Family,
    /// The neighbour has no route itself.
    Nothing,
    /// The neighbour passes on only its own.
    NoTransit,
    /// The neighbour has it from within the AS that both are in.
    Internal,
    /// The neighbour announces an aggregate in its place.
    Silent,
    /// A community keeps the neighbour from passing it on.
    Kept,
    /// The own AS number is in the path.
    Loop,
    /// A filter.
    Filter,
}

/// The state of everyone toward one destination.
pub struct Propagation<'g> {
    graph: &'g Graph,
    target: Option<&'g Destination>,
    best: Vec<BestRoute>,
    /// Whether someone has the destination itself or from its speaker.
    own: Vec<bool>,
    /// AS paths, each by its first hop.
    paths: Vec<PathHop>,
    waiting: VecDeque<u32>,
    is_waiting: Vec<bool>,
    /// What was before, since the last [`Spread::settle`].
    before: Vec<(u32, BestRoute)>,
    down: FailureState,
}

/// What is taken away.
struct FailureState {
    vertices: Vec<bool>,
    edges: Vec<bool>,
    speakers: Vec<bool>,
}

impl<'g> Propagation<'g> {
    /// No destination yet.
    pub fn new(graph: &'g Graph) -> Self {
        let count = graph.vertices.len();
        Self {
            graph,
            target: None,
            best: vec![NOTHING; count],
            own: vec![false; count],
            paths: Vec::new(),
            waiting: VecDeque::new(),
            is_waiting: vec![false; count],
            before: Vec::new(),
            down: FailureState {
                vertices: vec![false; count],
                edges: vec![false; graph.edges.len()],
                speakers: vec![false; count],
            },
        }
    }

    /// Lets a destination spread until nothing changes any more. Says whether it came to that.
    pub fn settle(&mut self, target: &'g Destination) -> bool {
        if let Some(last) = self.target.replace(target) {
            last.origins.iter().for_each(|origin| self.own[origin.vertex as usize] = false);
        }
        self.best.fill(NOTHING);
        self.paths.clear();
        for origin in &target.origins {
            self.own[origin.vertex as usize] = true;
            self.wait(origin.vertex);
        }
        let settled = self.run();
        self.before.clear();
        settled
    }

    /// Takes away what `failures` say, lets BGP run, and asks `look`; then everything is as before. Says whether BGP came to
    /// rest.
    pub fn without(&mut self, failures: &[Failure], mut look: impl FnMut(&mut Self)) -> bool {
        let known = self.paths.len();
        for failure in failures {
            self.set(*failure, true);
        }
        for failure in failures {
            self.touch(*failure);
        }
        let settled = self.run();
        look(self);
        for (vertex, route) in std::mem::take(&mut self.before).into_iter().rev() {
            self.best[vertex as usize] = route;
        }
        for failure in failures {
            self.set(*failure, false);
        }
        self.paths.truncate(known);
        settled
    }

    /// Whether someone has a route.
    pub fn has(&self, vertex: u32) -> bool {
        self.best[vertex as usize].via != NONE
    }

    /// Whether someone has the destination itself, or from its speaker.
    pub fn is_own(&self, vertex: u32) -> bool {
        self.best[vertex as usize].is_own()
    }

    /// Whether someone has a route from a neighbour that it prefers to any from its own speaker.
    pub(crate) fn outdoes_speaker(&self, vertex: u32) -> bool {
        let best = self.best[vertex as usize];
        best.via != NONE && !best.is_own() && best.preference > PREFERENCE
    }

    /// Whether someone is taken away.
    pub(crate) fn is_down(&self, vertex: u32) -> bool {
        self.down.vertices[vertex as usize]
    }

    /// Whether a session is there.
    pub fn is_up(&self, edge: u32) -> bool {
        let ends = self.graph.edges[edge as usize].ends;
        !self.down.edges[edge as usize] && !self.is_down(ends.0) && !self.is_down(ends.1)
    }

    /// Everyone who still has the destination to give.
    pub(crate) fn givers(&self) -> impl Iterator<Item = u32> {
        let origins = self.target.into_iter().flat_map(|target| &target.origins);
        origins.filter(|origin| !origin.silent && self.gives(origin)).map(|origin| origin.vertex)
    }

    /// Whether a route changed that is passed on, since the destination settled.
    pub(crate) fn moves_others(&self) -> bool {
        self.before.iter().any(|(vertex, _)| self.graph.vertices[*vertex as usize].passes_on)
    }

    /// Everyone who had a route before something was taken away, and has none now. Who is taken away itself is left out.
    pub fn lost(&self) -> Vec<u32> {
        let mut changed: Vec<(u32, usize)> =
            self.before.iter().zip(0..).map(|((vertex, _), nth)| (*vertex, nth)).collect();
        changed.sort_unstable();
        // The first change of each tells how it was before.
        changed.dedup_by_key(|(vertex, _)| *vertex);
        let had = |nth: usize| self.before[nth].1.via != NONE;
        changed
            .into_iter()
            .filter(|(vertex, nth)| had(*nth) && !self.has(*vertex) && !self.is_down(*vertex))
            .map(|(vertex, _)| vertex)
            .collect()
    }

    /// Whether someone had a route before something was taken away.
    pub(crate) fn had(&self, vertex: u32) -> bool {
        let first = self.before.iter().find(|(changed, _)| *changed == vertex);
        first.map_or_else(|| self.has(vertex), |(_, route)| route.via != NONE)
    }

    /// The sessions that someone's equal best routes came by.
    pub fn next(&self, vertex: u32) -> Vec<u32> {
        let best = self.best[vertex as usize];
        if best.via == NONE || best.is_own() {
            return Vec::new();
        }
        let edges = self.graph.vertices[vertex as usize].edges.iter();
        let offers = edges.filter_map(|(edge, _)| self.offer(*edge, vertex).ok());
        offers.filter(|offer| offer.rank() == best.rank()).map(|offer| offer.via).collect()
    }

    /// Length of someone's best path, with what was put in front.
    pub fn length(&self, vertex: u32) -> usize {
        usize::try_from(self.best[vertex as usize].length).unwrap_or(usize::MAX)
    }

    /// The AS numbers on someone's best path.
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

    /// Whether someone takes a route from a neighbour, be it the best or not.
    pub(crate) fn is_told(&self, vertex: u32) -> bool {
        let edges = &self.graph.vertices[vertex as usize].edges;
        edges.iter().any(|(edge, _)| self.offer(*edge, vertex).is_ok())
    }

    /// Why someone takes nothing over a session; none if it does.
    pub(crate) fn refusal(&self, edge: u32, to: u32) -> Option<RejectReason> {
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

    fn touch(&mut self, failure: Failure) {
        let graph = self.graph;
        match failure {
            Failure::Link(_) | Failure::Between(..) => {
                for edge in failure.edges(graph).iter() {
                    let ends = graph.edges[*edge as usize].ends;
                    self.wait(ends.0);
                    self.wait(ends.1);
                }
            }
            Failure::Vertex(vertex) => {
                self.wait(vertex);
                for (_, far) in &graph.vertices[vertex as usize].edges {
                    self.wait(*far);
                }
            }
            Failure::Speaker(node) => self.wait(node),
        }
    }

    fn wait(&mut self, vertex: u32) {
        if !std::mem::replace(&mut self.is_waiting[vertex as usize], true) {
            self.waiting.push_back(vertex);
        }
    }

    /// Works off everyone who waits. A fabric that never comes to rest is given up.
    fn run(&mut self) -> bool {
        let graph = self.graph;
        let mut left = 64 * (graph.vertices.len() + graph.edges.len() + 16);
        while let Some(vertex) = self.waiting.pop_front() {
            self.is_waiting[vertex as usize] = false;
            let old = self.best[vertex as usize];
            let new = self.decide(vertex);
            if new == old {
                continue;
            }
            if left == 0 {
                self.waiting.drain(..).for_each(|vertex| self.is_waiting[vertex as usize] = false);
                return false;
            }
            left -= 1;
            self.before.push((vertex, old));
            self.best[vertex as usize] = new;
            let passes_on = graph.vertices[vertex as usize].passes_on || old.is_own() || new.is_own();
            if passes_on {
                for (_, far) in &graph.vertices[vertex as usize].edges {
                    self.wait(*far);
                }
            }
        }
        true
    }

    fn gives(&self, origin: &Originator) -> bool {
        let without_speaker = origin.needs_speaker() && self.down.speakers[origin.vertex as usize];
        !without_speaker && !self.is_down(origin.vertex)
    }

    /// The best route of someone, from what everyone offers now.
    fn decide(&mut self, vertex: u32) -> BestRoute {
        if self.is_down(vertex) {
            return NOTHING;
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
            best.path = self.longer(vertex, best.via);
        }
        best
    }

    fn own_route(&mut self, vertex: u32) -> BestRoute {
        if !self.own[vertex as usize] {
            return NOTHING;
        }
        let origins = self.target.into_iter().flat_map(|target| &target.origins);
        let mut of_vertex = origins.filter(|origin| origin.vertex == vertex);
        let Some(origin) = of_vertex.find(|origin| self.gives(origin)) else {
            return NOTHING;
        };
        let route = BestRoute { preference: PREFERENCE, silent: origin.silent, ..NOTHING };
        let RouteSource::Speaker(asn) = origin.source else { return BestRoute { via: LOCAL, ..route } };
        let old = self.best[vertex as usize];
        let known = old.via == SPEAKER;
        let path = if known { old.path } else { self.remember(PathHop { asn, prepend: 0, rest: NONE }) };
        BestRoute { via: SPEAKER, length: 1, path, ..route }
    }

    /// Sessions that can have something to offer: most nodes pass on only their own.
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
        graph.vertices[vertex as usize].trunks.iter().copied().chain(of_origins).collect()
    }

    /// The path over a session; the one that is known already where it is the same.
    fn longer(&mut self, vertex: u32, edge: u32) -> u32 {
        let far = self.graph.edges[edge as usize].other(vertex);
        let sender = &self.graph.vertices[far as usize];
        if sender.asn == self.graph.vertices[vertex as usize].asn {
            return self.best[far as usize].path;
        }
        let hop = PathHop { asn: sender.asn, prepend: sender.prepend, rest: self.best[far as usize].path };
        let old = self.best[vertex as usize].path;
        if self.paths.get(old as usize) == Some(&hop) { old } else { self.remember(hop) }
    }

    fn remember(&mut self, hop: PathHop) -> u32 {
        self.paths.push(hop);
        u32::try_from(self.paths.len() - 1).expect("fewer paths than 2^32")
    }

    /// What someone is offered over a session, or why it takes nothing. The path is that of the neighbour.
    fn offer(&self, edge: u32, to: u32) -> Result<BestRoute, RejectReason> {
        let session = &self.graph.edges[edge as usize];
        let far = session.other(to);
        let route = self.best[far as usize];
        if route.via == NONE || route.via == edge || !self.is_up(edge) {
            return Err(RejectReason::Nothing);
        }
        let target = self.target.ok_or(RejectReason::Nothing)?;
        let (sender, receiver) = (&self.graph.vertices[far as usize], &self.graph.vertices[to as usize]);
        if !session.carries(target.family) {
            return Err(RejectReason::Family);
        }
        let internal = sender.asn == receiver.asn;
        if !sender.passes_on && !route.is_own() {
            return Err(RejectReason::NoTransit);
        }
        // What one router of an AS told another, that one does not tell a third.
        if internal && route.internal {
            return Err(RejectReason::Internal);
        }
        if route.silent {
            return Err(RejectReason::Silent);
        }
        if !sender.node && route.marks.kept && !internal {
            return Err(RejectReason::Kept);
        }
        if self.passes(receiver.asn, route.path) {
            return Err(RejectReason::Loop);
        }
        if !target.passes[receiver.gate] && (receiver.node || sender.node) {
            return Err(RejectReason::Filter);
        }
        let marks = if sender.node { sender.marks } else { route.marks };
        let preference = if internal && receiver.preference == PREFERENCE {
            route.preference
        } else {
            receiver.preference
        };
        Ok(BestRoute {
            via: edge,
            path: route.path,
            length: route.length + u32::from(!internal) + u32::from(sender.prepend),
            // RFC 8326, 4: whatever the receiver would prefer else.
            preference: if marks.leaving { 0 } else { preference },
            marks,
            silent: false,
            internal,
        })
    }

    fn passes(&self, asn: u32, path: u32) -> bool {
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
