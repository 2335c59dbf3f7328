//! Descriptions of destinations, and of nodes and routers that do not reach them.

use std::collections::BTreeMap;

use super::cause::MissingRouteCause;
use super::destination::{AbsenceReason, Destination};
use super::examples::Examples;
use super::graph::Graph;
use super::propagation::Propagation;
use ichor_values::listing::join_names;

/// Maximum number of names in a list.
const NAMED: usize = 3;

/// The prefixes of a destination.
pub(crate) fn prefixes_text(target: &Destination) -> String {
    match &target.nets[..] {
        [one] => one.to_string(),
        [one, other] => format!("{one} and {other}"),
        [one, rest @ ..] => format!("{one} and {} others", rest.len()),
        [] => String::new(),
    }
}

/// A list of names, abbreviated if it is long.
pub fn summarize_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    join_names(&names[..names.len().min(NAMED)], names.len())
}

/// Describes a node with a default route to a router without a route.
pub(crate) fn dropped_text(graph: &Graph, target: &Destination, node: u32, router: u32) -> String {
    let name = |vertex: u32| &graph.vertices[vertex as usize].name;
    format!(
        "{} loses some packets to {}: {} gives it a default route but has no route there",
        name(node),
        prefixes_text(target),
        name(router)
    )
}

/// Nodes and routers without a route to one destination.
#[derive(Default)]
pub(crate) struct MissingRoutes(Vec<u32>);

impl MissingRoutes {
    /// Adds a node or router.
    pub fn add(&mut self, vertex: u32) {
        self.0.push(vertex);
    }

    /// Reports them as unreachable, grouped by cause.
    pub(crate) fn report_unreachable(
        &self,
        graph: &Graph,
        target: &Destination,
        propagation: &Propagation<'_>,
        tally: &mut Examples,
    ) {
        if target.origins.is_empty() && !self.0.is_empty() {
            return tally.add_group(self.0.len(), || unannounced_text(target));
        }
        self.report(graph, target, propagation, tally, |members, several, why| {
            let verb = if several { "do" } else { "does" };
            format!("{members} {verb} not reach {}: {why}", prefixes_text(target))
        });
    }

    /// Reports them as reachable only by a default route, grouped by cause.
    pub(crate) fn report_default_only(
        &self,
        graph: &Graph,
        target: &Destination,
        propagation: &Propagation<'_>,
        tally: &mut Examples,
    ) {
        self.report(graph, target, propagation, tally, |members, several, why| {
            let (reach, way) =
                if several { ("reach", "their default routes") } else { ("reaches", "its default route") };
            format!("{members} {reach} {} only by {way}: {why}", prefixes_text(target))
        });
    }

    fn report(
        &self,
        graph: &Graph,
        target: &Destination,
        propagation: &Propagation<'_>,
        tally: &mut Examples,
        words: impl Fn(&str, bool, &str) -> String,
    ) {
        if !tally.has_room() {
            tally.count += self.0.len();
            return;
        }
        let mut causes: BTreeMap<MissingRouteCause, Vec<u32>> = BTreeMap::new();
        for &vertex in &self.0 {
            causes.entry(MissingRouteCause::find(graph, propagation, vertex)).or_default().push(vertex);
        }
        let mut causes: Vec<_> = causes.into_iter().collect();
        causes.sort_by_key(|(_, members)| members[0]);
        for (cause, members) in causes {
            let names =
                summarize_names(members.iter().map(|vertex| graph.vertices[*vertex as usize].name.as_str()));
            let several = members.len() > 1;
            let why = cause.text(graph, target.family(), several);
            tally.add_group(members.len(), || words(&names, several, &why));
        }
    }
}

/// Describes a destination without an origin.
fn unannounced_text(target: &Destination) -> String {
    let why = match target.absence {
        Some(AbsenceReason::NoSession) => ": no speaker that may announce it has a working session",
        Some(AbsenceReason::Family) => ": no session with a speaker carries its family",
        Some(AbsenceReason::Filter) => ": no node's filter accepts it from a speaker",
        None => "",
    };
    format!("{}: no node announces it{why}", prefixes_text(target))
}
