//! Unique values that two nodes have.
//!
//! Values are sorted and compared in runs: a file of a hundred thousand nodes usually has them in order already. Values
//! derived from a duplicate index are reported once, as `duplicate-index`.

use std::net::IpAddr;

use crate::plan::{NodePlan, Origin, Plan};
use crate::rules::address::node_address::{self, AddressPurpose, NodeAddress};
use crate::rules::address::overlap;
use crate::rules::affected_nodes::AffectedNodes;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::Location;
use ichor_values::listing;

pub(super) const RULES: &[Rule] = &[INDEX, ADDRESS, ROUTER_ID];

const INDEX: Rule = Rule {
    id: "duplicate-index",
    severity: Severity::Error,
    summary: "two nodes have the same index",
    failure: "If two nodes share an index, both derive the same addresses, AS number and router ID, and take each \
              other's traffic.",
    fix: "give each node a unique index",
    check: check_index,
};

const ADDRESS: Rule = Rule {
    id: "duplicate-address",
    severity: Severity::Error,
    summary: "an address is assigned twice",
    failure: "If two interfaces hold one address, the one that answers ARP or neighbour discovery last receives the \
              traffic. If it is the gateway's address, the whole network loses its way out.",
    fix: "give each node, link and gateway a unique address",
    check: check_address,
};

const ROUTER_ID: Rule = Rule {
    id: "duplicate-router-id",
    severity: Severity::Error,
    summary: "two nodes have the same BGP router ID",
    failure: "A route reflector takes the second node's routes for copies of the first node's and drops them, while \
              all sessions stay established.",
    fix: "set another `routing.router_id` on one of the nodes, or leave it out to have it derived",
    check: check_router_id,
};

/// The number of values of one kind that are reported individually.
const REPORT_LIMIT: usize = 50;

/// Values that occur more than once, with the numbers of their nodes, each once.
pub(super) fn find_duplicates<K: Ord + Copy>(mut items: Vec<(K, u32)>) -> Vec<(K, Vec<u32>)> {
    // The stable sort is linear for items that are already in order.
    items.sort();
    let runs = items.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1);
    let numbers = |run: &[(K, u32)]| {
        let mut numbers: Vec<_> = run.iter().map(|item| item.1).collect();
        numbers.dedup();
        numbers
    };
    runs.map(|run| (run[0].0, numbers(run))).collect()
}

/// The values of every node, as input of [`find_duplicates`].
pub(super) fn values_by_node<'p, K, I: IntoIterator<Item = K>>(
    plan: &'p Plan,
    values: impl Fn(&'p NodePlan) -> I,
) -> Vec<(K, u32)> {
    let mut items = Vec::with_capacity(plan.nodes.len());
    for (nth, node) in (0..).zip(&plan.nodes) {
        items.extend(values(node).into_iter().map(|value| (value, nth)));
    }
    items
}

/// A value that several nodes have.
pub(super) struct DuplicateValue<'p> {
    /// The key below the node.
    pub key: String,
    /// The nodes.
    pub(crate) affected: AffectedNodes<'p>,
    /// The value with its noun.
    pub what: String,
}

impl DuplicateValue<'_> {
    fn message(&self) -> String {
        let twice = if self.affected.count() == 1 { " twice" } else { "" };
        format!("{} is used by {}{twice}", self.what, self.affected)
    }
}

/// Reports duplicate values, each at its second node.
pub(super) fn report_duplicates<'p>(
    findings: &mut Findings,
    duplicates: impl Iterator<Item = DuplicateValue<'p>>,
) {
    let (mut rest, mut last) = (0, Location::default());
    for (nth, duplicate) in duplicates.enumerate() {
        let Some((node, place)) = duplicate.affected.duplicate_node() else { continue };
        if nth < REPORT_LIMIT {
            findings.add(node.path(&duplicate.key), place, duplicate.message());
            last = place;
        } else {
            rest += 1;
        }
    }
    if rest > 0 {
        findings.add("nodes", last, format!("and {} more duplicate values", listing::thousands(rest)));
    }
}

/// Whether all values are derived from one index, which is then reported as duplicate.
pub(super) fn share_index(mut values: impl Iterator<Item = (Option<u32>, Origin)>) -> bool {
    let by_index = |origin| matches!(origin, Origin::Derived(rule, _) if rule.uses_index());
    let Some((index, origin)) = values.next() else { return false };
    by_index(origin) && values.all(|(other, origin)| other == index && by_index(origin))
}

fn check_index(context: &RuleContext<'_>, findings: &mut Findings) {
    let nodes = context.cluster.nodes();
    let duplicates = find_duplicates(values_by_node(context.plan, |node| node.index)).into_iter().map(
        |(index, numbers)| {
            let mut affected = AffectedNodes::default();
            for nth in numbers.into_iter().map(|nth| nth as usize) {
                let node = &context.plan.nodes[nth];
                affected.add(node, nodes[nth].value.index.place().unwrap_or(node.place));
            }
            DuplicateValue { key: "index".to_owned(), affected, what: format!("index {index}") }
        },
    );
    report_duplicates(findings, duplicates);
}

fn check_router_id(context: &RuleContext<'_>, findings: &mut Findings) {
    let plan = context.plan;
    let router_id = |node: &'_ NodePlan| {
        // A router ID derived from a duplicate loopback is reported as a duplicate address.
        let own = |origin: &Origin| {
            !matches!(origin, Origin::Derived(crate::plan::derive::Derivation::RouterIdLoopback, _))
        };
        let id = node.router_id.as_ref().filter(|_| node.routing.is_some());
        id.filter(|id| own(&id.origin)).map(|id| (id.value, id.origin))
    };
    let duplicates = find_duplicates(values_by_node(plan, |node| router_id(node).map(|(id, _)| id)));
    let duplicates = duplicates.into_iter().filter_map(|(id, numbers)| {
        let nodes = || numbers.iter().map(|&nth| &plan.nodes[nth as usize]);
        let origins = || nodes().filter_map(|node| Some((node, router_id(node)?.1)));
        if share_index(origins().map(|(node, origin)| (node.index, origin))) {
            return None;
        }
        let affected = origins().map(|(node, origin)| (node, node.place_of(origin))).collect();
        Some(DuplicateValue {
            key: "routing.router_id".to_owned(),
            affected,
            what: format!("router ID {id}"),
        })
    });
    report_duplicates(findings, duplicates);
}

/// The owner number of gateways.
const GATEWAY: u32 = u32::MAX;
/// The owner number of the VIP. Another rule reports a node that has its address.
const VIP: u32 = u32::MAX - 1;

fn check_address(context: &RuleContext<'_>, findings: &mut Findings) {
    let plan = context.plan;
    let mut items = node_addresses(plan);
    items.extend(gateway_addresses(plan).into_iter().map(|gateway| (gateway, GATEWAY)));
    items.extend(plan.cluster.vip.iter().map(|vip| (vip.value, VIP)));
    let mut duplicates = Vec::new();
    for (address, numbers) in find_duplicates(items) {
        let nodes = numbers.iter().filter(|&&nth| nth < VIP).map(|&nth| &plan.nodes[nth as usize]);
        let held: Vec<_> = nodes.flat_map(|node| addresses_of(node, address)).collect();
        if numbers.contains(&GATEWAY) {
            report_gateway(context, findings, address, &held);
        }
        if held.len() > 1 && !is_reported_elsewhere(context, &held) && !is_apart(&held) {
            let affected = affected_nodes(&held);
            let marked = affected.duplicate_node().filter(|_| affected.count() > 1);
            let is_marked = |(node, held): &&(&NodePlan, NodeAddress<'_>)| {
                marked.is_some_and(|(at, place)| at.nth == node.nth && node.place_of(held.origin) == place)
            };
            let (_, marked_address) = held.iter().find(is_marked).unwrap_or(&held[1]);
            duplicates.push(DuplicateValue {
                key: marked_address.purpose.key(address),
                affected,
                what: address.to_string(),
            });
        }
    }
    report_duplicates(findings, duplicates.into_iter());
}

/// The addresses of every node, one kind after the other: each kind usually is in order already.
fn node_addresses(plan: &Plan) -> Vec<(IpAddr, u32)> {
    let mut kinds: [Vec<(IpAddr, u32)>; 5] = Default::default();
    for (nth, node) in (0..).zip(&plan.nodes) {
        for held in node_address::unicast_addresses(node) {
            let address = held.net.addr();
            let kind = match held.purpose {
                AddressPurpose::Node => usize::from(address.is_ipv6()),
                AddressPurpose::Loopback => 2 + usize::from(address.is_ipv6()),
                AddressPurpose::Dummy(_) | AddressPurpose::Link(_) => 4,
            };
            kinds[kind].push((address, nth));
        }
    }
    kinds.concat()
}

fn affected_nodes<'p>(held: &[(&'p NodePlan, NodeAddress<'_>)]) -> AffectedNodes<'p> {
    held.iter().map(|(node, held)| (*node, node.place_of(held.origin))).collect()
}

/// Reports a gateway whose address nodes or the VIP have.
fn report_gateway(
    context: &RuleContext<'_>,
    findings: &mut Findings,
    address: IpAddr,
    held: &[(&NodePlan, NodeAddress<'_>)],
) {
    if let Some((_, first)) = held.first() {
        let affected = affected_nodes(held);
        let message = format!("{address} is both a gateway and an address of {affected}");
        findings.add(affected.path(&first.purpose.key(address)), affected.place(), message);
    }
    if let Some(vip) = context.plan.cluster.vip.as_ref().filter(|vip| vip.value == address) {
        let place = vip.place().unwrap_or(context.cluster.place());
        findings.add("network.api.vip", place, format!("{address} is both the VIP and a gateway"));
    }
}

fn gateway_addresses(plan: &Plan) -> Vec<IpAddr> {
    let of = |node: &NodePlan| {
        let v4 = node.gateway.v4.as_ref().map(|v4| IpAddr::V4(v4.value));
        [v4, node.gateway.v6.as_ref().map(|v6| IpAddr::V6(v6.value))]
    };
    let mut gateways: Vec<_> = plan.nodes.iter().flat_map(of).flatten().collect();
    gateways.sort_unstable();
    gateways.dedup();
    gateways
}

fn addresses_of(node: &NodePlan, address: IpAddr) -> impl Iterator<Item = (&NodePlan, NodeAddress<'_>)> {
    node_address::unicast_addresses(node)
        .filter(move |held| held.net.addr() == address)
        .map(move |held| (node, held))
}

/// Whether another rule reports it: a duplicate index, or one address in a layer for many nodes.
fn is_reported_elsewhere(context: &RuleContext<'_>, held: &[(&NodePlan, NodeAddress<'_>)]) -> bool {
    let same_line = |origin: Origin| matches!(origin, Origin::Written(_)) && origin == held[0].1.origin;
    let from_rung =
        |held: &NodeAddress<'_>| same_line(held.origin) && !matches!(held.purpose, AddressPurpose::Link(_));
    let on_rung = held.iter().all(|(_, held)| from_rung(held))
        && !held.iter().any(|(node, held)| is_own(context, node, held.origin));
    on_rung || share_index(held.iter().map(|(node, held)| (node.index, held.origin)))
}

/// Whether the node itself, not a layer below it, sets the address.
fn is_own(context: &RuleContext<'_>, node: &NodePlan, origin: Origin) -> bool {
    let Some(network) = context.cluster.nodes()[node.nth].value.settings.network.get() else { return false };
    let Origin::Written(place) = origin else { return false };
    overlap::address_keys(network).any(|source| [source.v4.place(), source.v6.place()].contains(&Some(place)))
}

/// Whether they are in different places that only an overlay connects.
fn is_apart(held: &[(&NodePlan, NodeAddress<'_>)]) -> bool {
    if !held.iter().all(|(node, held)| node_address::is_site_local(node, held.purpose)) {
        return false;
    }
    let mut sites: Vec<_> = held.iter().map(|(node, _)| node.site.as_ref()).collect();
    sites.sort_unstable();
    sites.windows(2).all(|pair| pair[0] != pair[1])
}
