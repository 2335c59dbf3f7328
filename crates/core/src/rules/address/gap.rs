//! Values that cannot be derived.
//!
//! A gap concerns one node or the cluster. Gaps with the same reason are one finding.

use std::collections::HashMap;

use crate::cluster::section::{Addressing, Platform};
use crate::plan::{Gap, GapReason, NodePlan, Origin, Plan, Prefixes, derive};
use crate::rules::affected_nodes::AffectedNodes;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::listing;

pub(super) const RULES: &[Rule] = &[NOT_DERIVABLE, FAMILY, OUTSIDE, NO_ADDRESS];

const NOT_DERIVABLE: Rule = Rule {
    id: "not-derivable",
    severity: Severity::Error,
    summary: "a value cannot be derived and must be written",
    failure: "A derived value would belong to another cluster: the AS number for index 1000, for example, is the first \
              one of the next cluster.",
    fix: "write the key that the message names, or the `cluster.id` or `index` it follows from",
    check: check_not_derivable,
};

const FAMILY: Rule = Rule {
    id: "address-family-gap",
    severity: Severity::Warning,
    summary: "nodes have addresses of one IP family only, because the other cannot be derived",
    failure: "A cluster with an ID above 255 has no IPv4 prefix by the rule 10.ID.0.0/24. Its nodes have IPv6 only, \
              and workloads cannot reach IPv4 destinations.",
    fix: "write the prefix or the addresses of the missing family, or set it to `null` if it is not wanted",
    check: check_family,
};

const OUTSIDE: Rule = Rule {
    id: "index-outside-prefix",
    severity: Severity::Error,
    summary: "a node's index is outside its prefix",
    failure: "Index 300 in a /24 is address 44 of the next network. The node would take an address that belongs to a \
              machine there.",
    fix: "use an index within the prefix, a larger prefix, or write the node's address",
    check: check_outside,
};

const NO_ADDRESS: Rule = Rule {
    id: "no-address",
    severity: Severity::Error,
    summary: "a node with static addressing has no address",
    failure: "A node that has neither `cluster.id` nor a prefix to derive an address from boots without one and cannot \
              be reached.",
    fix: "write `cluster.id` and the node's `index`, `network.node.v4` or `v6`, or `network.node.addressing: dhcp`",
    check: check_no_address,
};

/// Gaps with the same reason: the missing keys and the affected nodes.
struct GapGroup<'p> {
    reason: GapReason,
    rule: derive::Derivation,
    keys: Vec<&'static str>,
    affected: AffectedNodes<'p>,
}

/// Groups the gaps that `wanted` selects by reason, in the order of the plan.
fn group_gaps<'p>(context: &RuleContext<'p>, wanted: impl Fn(&Gap) -> bool) -> Vec<GapGroup<'p>> {
    let (plan, nodes) = (context.plan, context.cluster.nodes());
    let mut known: HashMap<(bool, GapReason), usize> = HashMap::new();
    let mut groups: Vec<GapGroup<'_>> = Vec::new();
    for gap in plan.gaps.iter().filter(|gap| wanted(gap)) {
        let nth = *known.entry((gap.node.is_some(), gap.reason)).or_insert_with(|| {
            groups.push(GapGroup {
                reason: gap.reason,
                rule: gap.rule,
                keys: Vec::new(),
                affected: AffectedNodes::default(),
            });
            groups.len() - 1
        });
        let group = &mut groups[nth];
        if !group.keys.contains(&gap.key) {
            group.keys.push(gap.key);
        }
        if let Some(nth) = gap.node {
            group.affected.add(&plan.nodes[nth], nodes[nth].value.index.place().unwrap_or(nodes[nth].place));
        }
    }
    groups
}

/// Picks a node's addresses in one network.
type PrefixSelector = fn(&NodePlan) -> &Prefixes;

/// Selects the network of a gap's key; the flag is true for IPv4.
fn address_selector(key: &str) -> Option<(PrefixSelector, bool)> {
    let node: PrefixSelector = |node| &node.address;
    let loopback: PrefixSelector = |node| &node.loopback;
    match key {
        "network.node.v4" => Some((node, true)),
        "network.node.v6" => Some((node, false)),
        "network.loopback.v4" => Some((loopback, true)),
        "network.loopback.v6" => Some((loopback, false)),
        _ => None,
    }
}

/// Whether a node needs an address in the network of `key`.
fn needs_address(key: &str, node: &NodePlan) -> bool {
    if key.starts_with("network.loopback") {
        node.routing.is_some()
    } else {
        node.addressing.value != Addressing::Dhcp
    }
}

fn has_family(prefixes: &Prefixes, v4: bool) -> bool {
    if v4 { prefixes.v4.is_some() } else { prefixes.v6.is_some() }
}

/// Nodes without an address because of a gap that concerns the cluster.
fn nodes_without<'p>(plan: &'p Plan, gap: &Gap) -> impl Iterator<Item = &'p NodePlan> {
    let key = gap.key;
    let selector = address_selector(key);
    plan.nodes.iter().filter(move |node| {
        selector.is_none_or(|(prefixes, v4)| needs_address(key, node) && !has_family(prefixes(node), v4))
    })
}

/// Whether only one of the two IP families is missing.
fn is_single_family_gap(plan: &Plan, gap: &Gap) -> bool {
    let Some((prefixes, v4)) = address_selector(gap.key) else { return false };
    if matches!(gap.reason, GapReason::OutsidePrefix(_)) {
        return false;
    }
    match gap.node {
        Some(node) => has_family(prefixes(&plan.nodes[node]), !v4),
        None => nodes_without(plan, gap).all(|node| has_family(prefixes(node), !v4)),
    }
}

fn check_not_derivable(context: &RuleContext<'_>, findings: &mut Findings) {
    let plan = context.plan;
    let outside = |gap: &Gap| matches!(gap.reason, GapReason::OutsidePrefix(_));
    let counts = |gap: &Gap| gap.node.is_some() || nodes_without(plan, gap).next().is_some();
    for group in group_gaps(context, |gap| !outside(gap) && !is_single_family_gap(plan, gap) && counts(gap)) {
        report_group(context, findings, &group);
    }
}

fn report_group(context: &RuleContext<'_>, findings: &mut Findings, group: &GapGroup<'_>) {
    let section = context.cluster.section();
    let id_place = section.id.place().unwrap_or(context.cluster.place());
    let keys = quoted_keys(&group.keys);
    let words = group.rule.description();
    let of = if group.affected.is_empty() { String::new() } else { format!(" of {}", group.affected) };
    match group.reason {
        GapReason::NoId => {
            findings.add(
                "cluster.id",
                id_place,
                format!("{keys}{of} cannot be derived without `cluster.id`"),
            );
        }
        GapReason::NoIndex => {
            let message = format!("{keys}{of} cannot be derived without `index`");
            findings.add(group.affected.path("index"), group.affected.place(), message);
        }
        GapReason::IdOver(limit) => {
            let message = format!("{keys}{of} must be set: `{words}` supports IDs up to {limit}");
            findings.add("cluster.id", id_place, message);
        }
        GapReason::IndexOver(limit) => {
            let message = format!("{keys}{of} must be set: `{words}` supports indexes up to {limit}");
            findings.add(group.affected.path("index"), group.affected.place(), message);
        }
        GapReason::AsnOver => {
            let message = format!("{keys}{of} must be set: `{words}` exceeds 4294967294");
            findings.add(group.affected.path("routing.asn"), group.affected.place(), message);
        }
        GapReason::OutsidePrefix(_) => {}
    }
}

fn quoted_keys(keys: &[&str]) -> String {
    let quoted: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    let quoted: Vec<_> = quoted.iter().map(String::as_str).collect();
    listing::join_names(&quoted, quoted.len())
}

fn check_family(context: &RuleContext<'_>, findings: &mut Findings) {
    let plan = context.plan;
    let mut missing: [(Vec<&str>, AffectedNodes<'_>); 2] = Default::default();
    for gap in plan.gaps.iter().filter(|gap| is_single_family_gap(plan, gap)) {
        let (names, affected) = &mut missing[usize::from(gap.key.ends_with("v6"))];
        if !names.contains(&gap.key) {
            names.push(gap.key);
        }
        match gap.node.map(|node| &plan.nodes[node]) {
            Some(node) => affected.add(node, node.place),
            // The nodes that lack a loopback are among those that lack an address.
            None if affected.is_empty() => {
                nodes_without(plan, gap).for_each(|node| affected.add(node, node.place));
            }
            None => {}
        }
    }
    let [v4, v6] = missing;
    for (other, (names, affected)) in
        [("IPv6", v4), ("IPv4", v6)].iter().filter(|(_, (_, affected))| !affected.is_empty())
    {
        let message = format!("{other} only: {} cannot be derived for {affected}", quoted_keys(names));
        findings.add(names[0], affected.place(), message);
    }
}

fn check_outside(context: &RuleContext<'_>, findings: &mut Findings) {
    for group in group_gaps(context, |gap| matches!(gap.reason, GapReason::OutsidePrefix(_))) {
        let GapReason::OutsidePrefix(prefix) = group.reason else { continue };
        let message = match group.affected.duplicate_node() {
            Some((node, _)) if group.affected.count() == 1 => {
                let index = node.index.unwrap_or_default();
                format!("index {index} is outside {prefix} ({})", quoted_keys(&group.keys))
            }
            _ => format!(
                "the indexes of {} are outside {prefix} ({})",
                group.affected,
                quoted_keys(&group.keys)
            ),
        };
        findings.add(group.affected.path("index"), group.affected.place(), message);
    }
}

fn check_no_address(context: &RuleContext<'_>, findings: &mut Findings) {
    let plan = context.plan;
    let node_key = |gap: &&Gap| gap.key.starts_with("network.node.");
    if plan.gaps.iter().filter(node_key).any(|gap| gap.node.is_none()) {
        return;
    }
    let mut reported: Vec<_> = plan.gaps.iter().filter(node_key).filter_map(|gap| gap.node).collect();
    reported.dedup();
    let mut reported = reported.into_iter().peekable();
    let mut affected = AffectedNodes::default();
    for (nth, node) in plan.nodes.iter().enumerate() {
        if reported.next_if_eq(&nth).is_none() && lacks_address(node) {
            affected.add(node, node.place);
        }
    }
    if !affected.is_empty() {
        let message = format!("no address is set and none can be derived for {affected}");
        findings.add(affected.path("network.node"), affected.place(), message);
    }
}

/// Whether a node has no address. A cloud assigns one unless the file sets the addressing.
fn lacks_address(node: &NodePlan) -> bool {
    let cloud = !matches!(node.platform.value, Platform::Metal | Platform::Nocloud);
    let is_written = matches!(node.addressing.origin, Origin::Written(_));
    node.main_address().is_none() && node.addressing.value != Addressing::Dhcp && (is_written || !cloud)
}
