//! Why someone has no route: what is nearest on the way back to those who have it.

use super::graph::Graph;
use super::spread::{Refused, Spread};
use ichor_bgp::model::Family;

/// What keeps a destination out, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cause {
    what: What,
    /// Where it is, if not with the one who was asked about.
    at: Option<u32>,
    /// AS number of the one where it is.
    asn: u32,
    /// Who is at the other end there.
    far: u32,
}

/// From what says least to what says most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
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

impl What {
    /// Whether something farther away may tell more.
    fn is_weak(self) -> bool {
        self <= Self::DownToo
    }
}

impl Cause {
    /// Why someone has no route to the destination of `spread`.
    pub fn of(graph: &Graph, spread: &Spread<'_>, vertex: u32) -> Self {
        let own = &graph.vertices[vertex as usize];
        let start = if own.edges.is_empty() && own.cut.is_empty() { What::Alone } else { What::Nothing };
        let mut best = Self { what: start, at: None, asn: own.asn, far: vertex };
        let mut seen = vec![false; graph.vertices.len()];
        seen[vertex as usize] = true;
        let mut layer = vec![vertex];
        while !layer.is_empty() && best.what.is_weak() {
            let mut next = Vec::new();
            for at in layer {
                let there = (at != vertex).then_some(at);
                let asn = graph.vertices[at as usize].asn;
                let found = around(graph, spread, at).map(|(what, far)| Self { what, at: there, asn, far });
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
            What::Alone => format!("{} no session", if several { "they have" } else { "it has" }),
            What::Nothing => "no session leads toward anyone who has it".to_owned(),
            What::NoTransit => format!("only nodes such as {far} are in between, and they pass nothing on"),
            What::DownToo | What::Down => session("does not come up", "do not come up"),
            What::Cut => session("is taken away", "are taken away"),
            What::Away => format!("{far} is taken away"),
            What::Family => {
                let carried = match family {
                    Family::V4 => "carry IPv4",
                    Family::V6 => "carry IPv6",
                };
                session(&format!("does not {carried}"), &format!("do not {carried}"))
            }
            What::Internal => {
                format!("{far} has it from within AS {}, and tells it no other there", self.asn)
            }
            What::Silent => format!("{far} announces it only as part of an aggregate"),
            What::Kept => format!("a community keeps {far} from passing it on"),
            What::Loop => match self.at {
                Some(at) => format!("the AS {} of {} is in the path from {far}", self.asn, name(at)),
                None => format!("{its} own AS {} is in the path from {far}", self.asn),
            },
            What::Filter => match self.at {
                Some(at) => format!("the filter of {} keeps it out", name(at)),
                None => format!("{its} filter keeps it out"),
            },
        }
    }
}

/// What keeps the destination out on each session of someone, with who is at the other end.
fn around(graph: &Graph, spread: &Spread<'_>, at: u32) -> impl Iterator<Item = (What, u32)> {
    let vertex = &graph.vertices[at as usize];
    let gives =
        move |far: u32| spread.is_own(far) || (spread.has(far) && graph.vertices[far as usize].passes_on);
    let up = vertex.edges.iter().filter_map(move |&(edge, far)| {
        let what = if spread.is_down(far) {
            spread.had(far).then_some(What::Away)?
        } else if !spread.is_up(edge) {
            gives(far).then_some(What::Cut)?
        } else {
            match spread.refusal(edge, at)? {
                Refused::Nothing => return None,
                Refused::NoTransit => What::NoTransit,
                Refused::Family => What::Family,
                Refused::Internal => What::Internal,
                Refused::Silent => What::Silent,
                Refused::Kept => What::Kept,
                Refused::Loop => What::Loop,
                Refused::Filter => What::Filter,
            }
        };
        Some((what, far))
    });
    let down = vertex.cut.iter().map(move |&far| (if gives(far) { What::Down } else { What::DownToo }, far));
    up.chain(down)
}
