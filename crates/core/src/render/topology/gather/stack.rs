//! The card of several nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::grouping::NodeGroup;
use super::{DiagramSources, speaker, title};
use crate::plan::NodePlan;
use crate::render::topology::diagram::{Card, Fact, Hub, SpeakerBox, Wire, WireKind, facts_text};

/// The card of all nodes of `group`.
pub(crate) fn stack(sources: &DiagramSources<'_>, group: &NodeGroup<'_>, hubs: &[Hub]) -> Card {
    let nodes = || group.members.iter().map(|nth| &sources.plan.nodes[*nth]);
    let count = group.members.len();
    let name = title::node_count(count, group.role);
    let facts = facts(sources, &nodes().collect::<Vec<_>>());
    Card {
        detail: format!("{name}\n{}", facts_text(&facts)),
        name,
        role: group.role,
        caption: String::new(),
        speaker: speakers(nodes()),
        wires: wires(sources, group, hubs),
        facts,
        count,
    }
}

fn facts(sources: &DiagramSources<'_>, nodes: &[&NodePlan]) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let (Some(first), Some(last)) = (nodes.first(), nodes.last()) {
        facts.push(Fact::new("", format!("{} … {}", first.name, last.name)));
    }
    let mut fact =
        |label: &str, range: Option<String>| facts.extend(range.map(|range| Fact::new(label, range)));
    let routed = || nodes.iter().filter(|node| node.routing.is_some());
    fact("AS", range(routed().filter_map(|node| node.asn.as_ref()).map(|asn| asn.value)));
    fact("node", range(nodes.iter().filter_map(|node| node.address.v4.as_ref()).map(|v4| v4.value.addr())));
    fact("", range(nodes.iter().filter_map(|node| node.address.v6.as_ref()).map(|v6| v6.value.addr())));
    fact("lo", range(routed().filter_map(|node| node.loopback.v4.as_ref()).map(|v4| v4.value.addr())));
    fact("", range(routed().filter_map(|node| node.loopback.v6.as_ref()).map(|v6| v6.value.addr())));
    let sites: BTreeSet<_> = nodes.iter().filter_map(|node| node.site.as_ref()).collect();
    if sites.len() > 1 {
        fact("sites", Some(format!("{}: {}", sites.len(), ends(sites.first(), sites.last()))));
    }
    let releases: BTreeSet<_> = nodes.iter().map(|node| &node.talos.value).collect();
    if releases.iter().any(|release| **release != sources.plan.cluster.talos) {
        facts.push(Fact::accent("Talos", ends(releases.first(), releases.last())));
    }
    facts
}

/// A text for the range of `values`.
fn range<T: Ord + Copy + ToString>(values: impl Iterator<Item = T> + Clone) -> Option<String> {
    let least = values.clone().min()?;
    Some(ends(Some(least), values.max()))
}

/// A text for the first and last of several values, or the only one.
pub fn ends<T: ToString + PartialEq>(first: Option<T>, last: Option<T>) -> String {
    match (first, last) {
        (Some(first), Some(last)) if first != last => format!("{} … {}", first.to_string(), last.to_string()),
        (Some(only), _) => only.to_string(),
        (None, _) => String::new(),
    }
}

/// The speaker of the nodes, if it is the same for all.
fn speakers<'n>(nodes: impl Iterator<Item = &'n NodePlan>) -> Option<SpeakerBox> {
    let mut workloads = nodes.filter_map(|node| node.routing.as_ref()?.workload.as_ref());
    let first = workloads.next()?;
    if workloads.all(|other| speaker::is_same(first, other)) {
        return Some(speaker::speaker(first));
    }
    Some(SpeakerBox { name: "speakers".to_owned(), lines: vec!["differ".to_owned()] })
}

#[derive(Default)]
struct WireBundle<'a> {
    ports: BTreeSet<&'a str>,
    count: usize,
    bfd: usize,
}

/// One wire to each hub for all nodes of the group.
fn wires(sources: &DiagramSources<'_>, group: &NodeGroup<'_>, hubs: &[Hub]) -> Vec<Wire> {
    let mut bundles: BTreeMap<(usize, WireKind), WireBundle<'_>> = BTreeMap::new();
    for link in group.members.iter().flat_map(|nth| &sources.links[*nth]) {
        let bundle = bundles.entry((link.hub, link.kind)).or_default();
        bundle.ports.insert(link.port);
        bundle.count += 1;
        bundle.bfd += usize::from(link.neighbor.is_some_and(|neighbor| neighbor.bfd.is_some()));
    }
    let wire = |((hub, kind), bundle): ((usize, WireKind), WireBundle<'_>)| {
        let port = ends(bundle.ports.first(), bundle.ports.last());
        let what =
            if matches!(kind, WireKind::Unnumbered | WireKind::Numbered) { "sessions" } else { "links" };
        let detail =
            format!("{} {what} with {}, {} of them with BFD", bundle.count, hubs[hub].name, bundle.bfd);
        Wire { hub, kind, port, far: None, bfd: bundle.bfd == bundle.count, detail }
    };
    bundles.into_iter().map(wire).collect()
}
