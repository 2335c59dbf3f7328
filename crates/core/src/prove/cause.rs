//! Why someone has no route: what is nearest on the way back to those who have it.

use super::graph::Graph;
use super::spread::{Propagation, RejectReason};
use ichor_bgp::model::Family;

/// What keeps a destination out, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MissingRouteCause {
    what: CauseKind,
    /// Where it is, if not with the one who was asked about.
    at: Option<u32>,
    /// AS number of the one where it is.
    asn: u32,
    /// Who is at the other end there.
    far: u32,
}

/// From what says least to what says most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CauseKind {
    /// There is no session at all.
    Alone,
    /// Nothing leads there.
    Nothing,
    /// Only nodes are in between, which pass nothing on.
    NoTransit,
    /// A session does not come up, with someone who lacks the route as well.
    DownToo,
    /// The session was taken away.
    Cut,
    /// The other end was taken away.
    Away,
    /// The session does not come up.
    Down,
    /// The session does not carry the family.
    Family,
    /// The other end has it from within the AS that both are in.
    Internal,
    /// The other end announces an aggregate in its place.
    Silent,
    /// A community keeps the other end from passing it on.
    Kept,
    /// The own AS number is in the path.
    Loop,
    /// A filter.
    Filter,
}

impl CauseKind {
    /// Whether something farther away may tell more.
    fn is_weak(self) -> bool {
        self <= Self::DownToo
    }
}

impl MissingRouteCause {
    /// Why someone has no route to the destination of `spread`.
    pub fn of(graph: &Graph, spread: &Propagation<'_>, vertex: u32) -> Self {
        let own = &graph.vertices[vertex as usize];
        let start =
            if own.edges.is_empty() && own.cut.is_empty() { CauseKind::Alone } else { CauseKind::Nothing };
        let mut best = Self { what: start, at: None, asn: own.asn, far: vertex };
        let mut seen = vec![false; graph.vertices.len()];
        seen[vertex as usize] = true;
        let mut layer = vec![vertex];
        while !layer.is_empty() && best.what.is_weak() {
            let mut next = Vec::new();
            for at in layer {
                let there = (at != vertex).then_some(at);
                let asn = graph.vertices[at as usize].asn;
                let found =
                    session_causes(graph, spread, at).map(|(what, far)| Self { what, at: there, asn, far });
                // Of the same kind the first.
                best = found.fold(best, |best, cause| if cause.what > best.what { cause } else { best });
                for (edge, far) in &graph.vertices[at as usize].edges {
                    let lacks = spread.is_up(*edge) && !spread.has(*far);
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

    /// In words, of one or of several who share it.
    pub fn words(&self, graph: &Graph, family: Family, several: bool) -> String {
        let name = |vertex: u32| graph.vertices[vertex as usize].name.as_str();
        let far = name(self.far);
        let session = |does: &str, do_: &str| match self.at {
            Some(at) => format!("the session of {} with {far} {does}", name(at)),
            None if several => format!("their sessions with {far} {do_}"),
            None => format!("its session with {far} {does}"),
        };
        let its = if several { "their" } else { "its" };
        match self.what {
            CauseKind::Alone => format!("{} no session", if several { "they have" } else { "it has" }),
            CauseKind::Nothing => "no session leads toward its origin".to_owned(),
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
            CauseKind::Silent => format!("{far} announces it only as part of an aggregate"),
            CauseKind::Kept => format!("a community stops {far} from announcing it"),
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

/// What keeps the destination out on each session of someone, with who is at the other end.
fn session_causes(
    graph: &Graph,
    spread: &Propagation<'_>,
    at: u32,
) -> impl Iterator<Item = (CauseKind, u32)> {
    let vertex = &graph.vertices[at as usize];
    let gives =
        move |far: u32| spread.is_own(far) || (spread.has(far) && graph.vertices[far as usize].passes_on);
    let up = vertex.edges.iter().filter_map(move |&(edge, far)| {
        let what = if spread.is_down(far) {
            spread.had(far).then_some(CauseKind::Away)?
        } else if !spread.is_up(edge) {
            gives(far).then_some(CauseKind::Cut)?
        } else {
            match spread.refusal(edge, at)? {
                RejectReason::Nothing => return None,
                RejectReason::NoTransit => CauseKind::NoTransit,
                RejectReason::Family => CauseKind::Family,
                RejectReason::Internal => CauseKind::Internal,
                RejectReason::Silent => CauseKind::Silent,
                RejectReason::Kept => CauseKind::Kept,
                RejectReason::Loop => CauseKind::Loop,
                RejectReason::Filter => CauseKind::Filter,
            }
        };
        Some((what, far))
    });
    let down = vertex
        .cut
        .iter()
        .map(move |&far| (if gives(far) { CauseKind::Down } else { CauseKind::DownToo }, far));
    up.chain(down)
}
