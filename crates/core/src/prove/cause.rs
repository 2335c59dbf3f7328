//! Why a node or router has no route: the nearest cause on the paths to the origins.

use super::graph::Graph;
use super::propagation::{Propagation, RejectReason};
use ichor_bgp::model::Family;

/// A cause and its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MissingRouteCause {
    what: CauseKind,
    /// Its location, if it is not at the vertex in question.
    at: Option<u32>,
    /// AS number of that location.
    asn: u32,
    /// The vertex at the other end of the session.
    far: u32,
}

/// Kinds of causes, from the least to the most specific.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CauseKind {
    /// It has no session.
    NoSession,
    /// No path leads to an origin.
    NoPath,
    /// Only nodes are in between, which provide no transit.
    NoTransit,
    /// A session does not come up, and the other end has no route.
    DownToo,
    /// The session has failed.
    Cut,
    /// The other end has failed.
    Away,
    /// The session does not come up.
    Down,
    /// The session does not carry the family.
    Family,
    /// The other end received it over iBGP in the AS of both.
    Internal,
    /// The other end announces an aggregate instead.
    Aggregated,
    /// A community prevents the other end from passing it on.
    Community,
    /// The own AS number is in the path.
    Loop,
    /// The import filter rejects it.
    Filter,
}

impl CauseKind {
    /// Whether a cause farther away may be more specific.
    fn is_weak(self) -> bool {
        self <= Self::DownToo
    }
}

impl MissingRouteCause {
    /// Finds the cause why a vertex has no route.
    pub fn find(graph: &Graph, propagation: &Propagation<'_>, vertex: u32) -> Self {
        let own = &graph.vertices[vertex as usize];
        let start = if own.edges.is_empty() && own.down_peers.is_empty() {
            CauseKind::NoSession
        } else {
            CauseKind::NoPath
        };
        let mut best = Self { what: start, at: None, asn: own.asn, far: vertex };
        let mut seen = vec![false; graph.vertices.len()];
        seen[vertex as usize] = true;
        let mut layer = vec![vertex];
        while !layer.is_empty() && best.what.is_weak() {
            let mut next = Vec::new();
            for at in layer {
                let location = (at != vertex).then_some(at);
                let asn = graph.vertices[at as usize].asn;
                let found = session_causes(graph, propagation, at).map(|(what, far)| Self {
                    what,
                    at: location,
                    asn,
                    far,
                });
                // Of the same kind, the first wins.
                best = found.fold(best, |best, cause| if cause.what > best.what { cause } else { best });
                for (edge, far) in &graph.vertices[at as usize].edges {
                    let lacks = propagation.is_up(*edge) && !propagation.has(*far);
                    if lacks && graph.vertices[*far as usize].passes_on && !seen[*far as usize] {
                        seen[*far as usize] = true;
                        next.push(*far);
                    }
                }
            }
            layer = next;
        }
        best
    }

    /// A description, for one or several affected vertices.
    pub fn text(&self, graph: &Graph, family: Family, several: bool) -> String {
        let name = |vertex: u32| graph.vertices[vertex as usize].name.as_str();
        let far = name(self.far);
        let session = |singular: &str, plural: &str| match self.at {
            Some(at) => format!("the session of {} with {far} {singular}", name(at)),
            None if several => format!("their sessions with {far} {plural}"),
            None => format!("its session with {far} {singular}"),
        };
        let its = if several { "their" } else { "its" };
        match self.what {
            CauseKind::NoSession => format!("{} no session", if several { "they have" } else { "it has" }),
            CauseKind::NoPath => "no session leads toward its origin".to_owned(),
            CauseKind::NoTransit => {
                format!("only nodes such as {far} are in between, and they provide no transit")
            }
            CauseKind::DownToo | CauseKind::Down => session("does not come up", "do not come up"),
            CauseKind::Cut => session("is cut", "are cut"),
            CauseKind::Away => format!("{far} is down"),
            CauseKind::Family => {
                let carried = match family {
                    Family::V4 => "carry IPv4",
                    Family::V6 => "carry IPv6",
                };
                session(&format!("does not {carried}"), &format!("do not {carried}"))
            }
            CauseKind::Internal => {
                format!("{far} learned it over iBGP in AS {}, and does not pass it on there", self.asn)
            }
            CauseKind::Aggregated => format!("{far} announces it only as part of an aggregate"),
            CauseKind::Community => format!("a community stops {far} from announcing it"),
            CauseKind::Loop => match self.at {
                Some(at) => format!("the AS {} of {} is in the path from {far}", self.asn, name(at)),
                None => format!("{its} own AS {} is in the path from {far}", self.asn),
            },
            CauseKind::Filter => match self.at {
                Some(at) => format!("the import filter of {} rejects it", name(at)),
                None => format!("{its} import filter rejects it"),
            },
        }
    }
}

/// The cause on each session of a vertex, with the other end.
fn session_causes(
    graph: &Graph,
    propagation: &Propagation<'_>,
    at: u32,
) -> impl Iterator<Item = (CauseKind, u32)> {
    let vertex = &graph.vertices[at as usize];
    let gives = move |far: u32| {
        propagation.is_own(far) || (propagation.has(far) && graph.vertices[far as usize].passes_on)
    };
    let up = vertex.edges.iter().filter_map(move |&(edge, far)| {
        let what = if propagation.is_down(far) {
            propagation.had(far).then_some(CauseKind::Away)?
        } else if !propagation.is_up(edge) {
            gives(far).then_some(CauseKind::Cut)?
        } else {
            match propagation.reject_reason(edge, at)? {
                RejectReason::NoRoute => return None,
                RejectReason::NoTransit => CauseKind::NoTransit,
                RejectReason::Family => CauseKind::Family,
                RejectReason::Internal => CauseKind::Internal,
                RejectReason::Aggregated => CauseKind::Aggregated,
                RejectReason::Community => CauseKind::Community,
                RejectReason::Loop => CauseKind::Loop,
                RejectReason::Filter => CauseKind::Filter,
            }
        };
        Some((what, far))
    });
    let down = vertex
        .down_peers
        .iter()
        .map(move |&far| (if gives(far) { CauseKind::Down } else { CauseKind::DownToo }, far));
    up.chain(down)
}
