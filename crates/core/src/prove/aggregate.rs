//! Aggregates: prefixes that nodes announce instead of more specific ones.
//!
//! A daemon announces an aggregate while it has a more specific route: its own, its speaker's, or from a neighbour. It
//! originates the aggregate, and announces none of the more specific routes.

use std::collections::BTreeSet;

use ipnet::IpNet;

use super::destination::{Destination, DestinationKind, Originator, RouteSource};
use super::graph::Graph;
use super::propagation::Propagation;
use crate::routing::BgpTopology;
use ichor_bgp::model::BgpModel;

/// Whether a node announces an aggregate instead of this prefix.
pub(crate) fn is_covered(model: &BgpModel, net: IpNet) -> bool {
    model.fabric.aggregates.iter().any(|aggregate| is_part(net, *aggregate))
}

fn is_part(net: IpNet, aggregate: IpNet) -> bool {
    aggregate.contains(&net) && net.prefix_len() > aggregate.prefix_len()
}

/// The aggregates that nodes announce; `parts` are all other destinations.
pub(crate) fn aggregate_origins(
    graph: &Graph,
    network: &BgpTopology,
    parts: &[Destination],
) -> Vec<(IpNet, Originator)> {
    let mut wanted: BTreeSet<IpNet> = BTreeSet::new();
    for model in &network.nodes {
        wanted.extend(&model.fabric.aggregates);
    }
    // An aggregate may be part of a shorter aggregate of another node.
    let mut wanted: Vec<IpNet> = wanted.into_iter().collect();
    wanted.sort_by_key(|net| std::cmp::Reverse(net.prefix_len()));
    let mut known = parts.to_vec();
    let mut all = Vec::new();
    for net in wanted {
        let origins = origins(graph, network, &known, net);
        all.extend(origins.iter().map(|origin| (net, *origin)));
        known.push(aggregate_destination(graph, net, origins));
    }
    all
}

/// The nodes that announce an aggregate.
fn origins(graph: &Graph, network: &BgpTopology, known: &[Destination], aggregate: IpNet) -> Vec<Originator> {
    let holds_part = |target: &&Destination| target.nets.iter().any(|net| is_part(*net, aggregate));
    let parts: Vec<&Destination> = known.iter().filter(holds_part).collect();
    let announcing: Vec<u32> = (0..)
        .zip(&network.nodes)
        .filter(|(_, model)| model.fabric.aggregates.contains(&aggregate))
        .map(|(vertex, _)| vertex)
        .collect();
    let mut sources: Vec<Option<RouteSource>> =
        announcing.iter().map(|node| own_source(&parts, *node)).collect();
    let mut propagation = Propagation::new(graph);
    for part in parts.iter().copied() {
        if sources.iter().all(|source| matches!(source, Some(RouteSource::Own | RouteSource::OthersParts))) {
            break;
        }
        propagation.converge(part);
        for (node, source) in announcing.iter().zip(&mut sources) {
            if *source != Some(RouteSource::Own) && propagation.receives_route(*node) {
                *source = Some(RouteSource::OthersParts);
            }
        }
    }
    let found = announcing.into_iter().zip(sources);
    found
        .filter_map(|(vertex, source)| Some(Originator { vertex, source: source?, aggregated: false }))
        .collect()
}

/// The source of a part that a node has without its neighbours.
fn own_source(parts: &[&Destination], node: u32) -> Option<RouteSource> {
    let own =
        parts.iter().filter(|part| part.kind != DestinationKind::Aggregate).flat_map(|part| &part.origins);
    let sources = own.filter(|origin| origin.vertex == node).map(|origin| match origin.source {
        RouteSource::Speaker(_) => RouteSource::SpeakersParts,
        source => source,
    });
    sources.min()
}

/// The destination of an aggregate.
fn aggregate_destination(graph: &Graph, net: IpNet, origins: Vec<Originator>) -> Destination {
    let passes = graph.import_filters.iter().map(|filter| filter.admits(net)).collect();
    let family = ichor_bgp::model::Family::of(net);
    Destination { kind: DestinationKind::Aggregate, nets: vec![net], family, origins, absence: None, passes }
}
