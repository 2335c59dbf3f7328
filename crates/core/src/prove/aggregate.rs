//! Prefixes that nodes announce in place of their parts.
//!
//! A daemon has an aggregate while it has a part of it: an address of its own, one from its speaker, or one that others announce.
//! It then announces the aggregate as its own, and no part of it. A prefix is not a part of itself.

use std::collections::BTreeSet;

use ipnet::IpNet;

use super::destination::{Destination, DestinationKind, Originator, RouteSource};
use super::graph::Graph;
use super::spread::Propagation;
use crate::routing::BgpTopology;
use ichor_bgp::model::BgpModel;

/// Whether an aggregate of a node stands in for a prefix.
pub(crate) fn is_covered(model: &BgpModel, net: IpNet) -> bool {
    model.fabric.aggregates.iter().any(|aggregate| is_part(net, *aggregate))
}

fn is_part(net: IpNet, aggregate: IpNet) -> bool {
    aggregate.contains(&net) && net.prefix_len() > aggregate.prefix_len()
}

/// The aggregates that nodes announce. `parts` is all that is no aggregate.
pub(crate) fn all(graph: &Graph, network: &BgpTopology, parts: &[Destination]) -> Vec<(IpNet, Originator)> {
    let mut wanted: BTreeSet<IpNet> = BTreeSet::new();
    for model in &network.nodes {
        wanted.extend(&model.fabric.aggregates);
    }
    // An aggregate is a part of a shorter one that somebody else has.
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

/// Who announces an aggregate.
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
    let mut spread = Propagation::new(graph);
    for part in parts.iter().copied() {
        if sources.iter().all(|source| matches!(source, Some(RouteSource::Own | RouteSource::OthersParts))) {
            break;
        }
        spread.settle(part);
        for (node, source) in announcing.iter().zip(&mut sources) {
            if *source != Some(RouteSource::Own) && spread.is_told(*node) {
                *source = Some(RouteSource::OthersParts);
            }
        }
    }
    let found = announcing.into_iter().zip(sources);
    found.filter_map(|(vertex, source)| Some(Originator { vertex, source: source?, silent: false })).collect()
}

/// Which of the parts a node has without any neighbour.
fn own_source(parts: &[&Destination], node: u32) -> Option<RouteSource> {
    let own =
        parts.iter().filter(|part| part.kind != DestinationKind::Aggregate).flat_map(|part| &part.origins);
    let sources = own.filter(|origin| origin.vertex == node).map(|origin| match origin.source {
        RouteSource::Speaker(_) => RouteSource::SpeakersParts,
        source => source,
    });
    sources.min()
}

/// An aggregate as others see it.
fn aggregate_destination(graph: &Graph, net: IpNet, origins: Vec<Originator>) -> Destination {
    let passes = graph.gates.iter().map(|gate| gate.admits(net)).collect();
    let family = ichor_bgp::model::Family::of(net);
    Destination { kind: DestinationKind::Aggregate, nets: vec![net], family, origins, absence: None, passes }
}
