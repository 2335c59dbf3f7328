//! What is said of a destination and of those who miss it.

use std::collections::BTreeMap;

use super::cause::MissingRouteCause;
use super::destination::{AbsenceReason, Destination};
use super::graph::Graph;
use super::spread::Propagation;
use super::tally::Examples;
use ichor_values::listing::listed;

/// Of many who share something, so many are named.
const NAMED: usize = 3;

/// The prefixes of a destination.
pub(crate) fn named(target: &Destination) -> String {
    match &target.nets[..] {
        [one] => one.to_string(),
        [one, other] => format!("{one} and {other}"),
        [one, rest @ ..] => format!("{one} and {} others", rest.len()),
        [] => String::new(),
    }
}

/// Names of some who share something.
pub fn crowd<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    listed(&names[..names.len().min(NAMED)], names.len())
}

/// A node whose default routes lead it also to a router that has no way.
pub(crate) fn dropped(graph: &Graph, target: &Destination, node: u32, router: u32) -> String {
    let name = |vertex: u32| &graph.vertices[vertex as usize].name;
    format!(
        "{} loses some packets to {}: {} gives it a default route but has no route there",
        name(node),
        named(target),
        name(router)
    )
}

/// Those who have no route to one destination, put together by the cause.
#[derive(Default)]
pub(crate) struct MissingRoutes(Vec<u32>);

impl MissingRoutes {
    /// Adds one.
    pub fn add(&mut self, vertex: u32) {
        self.0.push(vertex);
    }

    /// Tells of all who do not reach it.
    pub(crate) fn tell_lost(
        &self,
        graph: &Graph,
        target: &Destination,
        spread: &Propagation<'_>,
        tally: &mut Examples,
    ) {
        if target.origins.is_empty() && !self.0.is_empty() {
            return tally.add_group(self.0.len(), || unannounced_text(target));
        }
        self.tell(graph, target, spread, tally, |who, several, why| {
            let verb = if several { "do" } else { "does" };
            format!("{who} {verb} not reach {}: {why}", named(target))
        });
    }

    /// Tells of all whose default route makes up for it.
    pub(crate) fn tell_led(
        &self,
        graph: &Graph,
        target: &Destination,
        spread: &Propagation<'_>,
        tally: &mut Examples,
    ) {
        self.tell(graph, target, spread, tally, |who, several, why| {
            let (reach, way) =
                if several { ("reach", "their default routes") } else { ("reaches", "its default route") };
            format!("{who} {reach} {} only by {way}: {why}", named(target))
        });
    }

    fn tell(
        &self,
        graph: &Graph,
        target: &Destination,
        spread: &Propagation<'_>,
        tally: &mut Examples,
        words: impl Fn(&str, bool, &str) -> String,
    ) {
        if !tally.has_room() {
            tally.count += self.0.len();
            return;
        }
        let mut causes: BTreeMap<MissingRouteCause, Vec<u32>> = BTreeMap::new();
        for &vertex in &self.0 {
            causes.entry(MissingRouteCause::of(graph, spread, vertex)).or_default().push(vertex);
        }
        let mut causes: Vec<_> = causes.into_iter().collect();
        causes.sort_by_key(|(_, who)| who[0]);
        for (cause, who) in causes {
            let names = crowd(who.iter().map(|vertex| graph.vertices[*vertex as usize].name.as_str()));
            let several = who.len() > 1;
            let why = cause.words(graph, target.family(), several);
            tally.add_group(who.len(), || words(&names, several, &why));
        }
    }
}

/// A destination that nobody has to give.
fn unannounced_text(target: &Destination) -> String {
    let why = match target.absence {
        Some(AbsenceReason::Unheard) => ": no speaker that may announce it has a working session",
        Some(AbsenceReason::Family) => ": no session with a speaker carries its family",
        Some(AbsenceReason::Filter) => ": no node's filter accepts it from a speaker",
        None => "",
    };
    format!("{}: no node announces it{why}", named(target))
}
