//! AS numbers that nodes of one fabric share.

use std::collections::HashMap;
use std::net::IpAddr;

use super::duplicate::{DuplicateValue, find_duplicates, report_duplicates, share_index, values_by_node};
use crate::plan::{NeighborAddress, NodePlan};
use crate::rules::affected_nodes::AffectedNodes;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::Asn;

pub(super) const RULES: &[Rule] = &[DUPLICATE];

const DUPLICATE: Rule = Rule {
    id: "duplicate-asn",
    severity: Severity::Warning,
    summary: "two nodes have the same AS number",
    failure: "Each of the two nodes finds its own AS number in the path of the other's routes, takes it for a loop and \
              drops them. All other nodes reach both, but these two cannot reach each other.",
    fix: "give each node a unique AS number; leave `routing.asn` out to have it derived",
    check: check_duplicates,
};

/// The identity of an eBGP neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum NeighborKey<'p> {
    Router(&'p str),
    Address(IpAddr),
}

fn check_duplicates(context: &RuleContext<'_>, findings: &mut Findings) {
    let plan = context.plan;
    let all = values_by_node(plan, |node| speaker(node).map(|asn| asn.value));
    let duplicates = find_duplicates(all).into_iter().filter_map(|(asn, numbers)| {
        let nodes: Vec<_> = numbers.iter().map(|&nth| &plan.nodes[nth as usize]).collect();
        let origins = nodes.iter().filter_map(|node| Some((node.index, node.asn.as_ref()?.origin)));
        if share_index(origins) || share_neighbors(&nodes, asn) {
            return None;
        }
        let mut affected = AffectedNodes::default();
        for node in nodes {
            affected.add(node, node.asn.as_ref().map_or(node.place, |asn| node.place_of(asn.origin)));
        }
        Some(DuplicateValue { key: "routing.asn".to_owned(), affected, what: format!("AS number {asn}") })
    });
    report_duplicates(findings, duplicates);
}

/// The AS number of a node that has eBGP sessions only: nodes with iBGP sessions share theirs by design.
fn speaker(node: &NodePlan) -> Option<&crate::plan::Decided<Asn>> {
    let asn = node.asn.as_ref()?;
    let inside = node.routing.as_ref()?.neighbors.iter().any(|neighbor| neighbor.asn() == Some(asn.value));
    (!inside).then_some(asn)
}

/// Whether common neighbours connect all nodes, which another rule reports.
fn share_neighbors(nodes: &[&NodePlan], asn: Asn) -> bool {
    let mut components = DisjointSet((0..nodes.len()).collect());
    let mut known: HashMap<NeighborKey<'_>, usize> = HashMap::new();
    for (nth, node) in nodes.iter().enumerate() {
        for neighbor in neighbors(node, asn) {
            let first = *known.entry(neighbor).or_insert(nth);
            components.join(first, nth);
        }
    }
    let first = components.find(0);
    (1..nodes.len()).all(|nth| components.find(nth) == first)
}

fn neighbors(node: &NodePlan, asn: Asn) -> impl Iterator<Item = NeighborKey<'_>> {
    let all = node.routing.iter().flat_map(|routing| &routing.neighbors);
    all.filter(move |neighbor| neighbor.asn() != Some(asn)).flat_map(|neighbor| {
        let router = neighbor.router.as_ref().map(|name| NeighborKey::Router(name.as_str()));
        let address = match neighbor.peer {
            NeighborAddress::Address(address) => Some(NeighborKey::Address(address)),
            NeighborAddress::Link(_) => None,
        };
        router.into_iter().chain(address)
    })
}

/// Connected components, as a forest.
struct DisjointSet(Vec<usize>);

impl DisjointSet {
    fn find(&mut self, mut nth: usize) -> usize {
        while self.0[nth] != nth {
            self.0[nth] = self.0[self.0[nth]];
            nth = self.0[nth];
        }
        nth
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[other] = one;
    }
}
