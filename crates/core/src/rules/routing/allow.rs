//! Prefixes accepted from the speaker.

use ipnet::IpNet;

use super::session::matching_nodes;
use super::speaker::{self, GroupSpeaker};
use crate::model::layer;
use crate::plan::NodePlan;
use crate::routing::protected::forbidden;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::Backend;
use ichor_values::Location;

pub(super) const RULES: &[Rule] = &[FABRIC, AROUND, OVERLAP, MISSES_POOL];

const FABRIC: Rule = Rule {
    id: "allow-fabric",
    severity: Severity::Error,
    summary: "the speaker may announce an address of the fabric",
    failure: "If a service pool contains a node's address by mistake, the speaker announces it, and the fabric sends \
              that node's traffic to another node, including that of the kubelet and etcd.",
    fix: "allow the service pools, and no prefix that contains a node, loopback, router or anycast address",
    check: check_fabric,
};

const AROUND: Rule = Rule {
    id: "allow-around-fabric",
    severity: Severity::Warning,
    summary: "the prefixes that the speaker may announce overlap the fabric",
    failure: "The filter excludes the cluster's own prefixes and default routes from `allow`. The node drops the \
              routes of a service pool inside one of them.",
    fix: "allow the service pools only, and keep them apart from nodes, loopbacks and anycast addresses",
    check: check_around,
};

const OVERLAP: Rule = Rule {
    id: "imports-overlap",
    severity: Severity::Error,
    summary: "prefixes that Talos imports overlap",
    failure: "Talos rejects overlapping import selectors, and with them the whole machine configuration.",
    fix: "keep the larger of the two prefixes",
    check: check_overlap,
};

const MISSES_POOL: Rule = Rule {
    id: "allow-misses-pool",
    severity: Severity::Warning,
    summary: "the node does not announce addresses of a service pool",
    failure: "Services get addresses from the pool and the speaker announces them, but the node drops them because \
              `allow` does not contain the pool.",
    fix: "add the pool to `allow`, or leave `allow` out to allow all pools",
    check: check_misses_pool,
};

/// The allow_path of `allow` if it is written, else of the pools from which it is derived.
fn allow_path(context: &RuleContext<'_>, node: &NodePlan, place: Location) -> String {
    let written = layer::find_setting(context.cluster, node.nth, |settings| {
        let allow = &settings.routing.get()?.workload.get()?.allow;
        let is_at_place = allow.place() == Some(place) || allow.items().any(|item| item.place == place);
        is_at_place.then_some(())
    });
    written.map_or_else(
        || "network.services.pools".to_owned(),
        |(layer, ())| layer.path("routing.workload.allow"),
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FabricPart {
    Default,
    Node(IpNet),
    Loopback(IpNet),
    Anycast(IpNet),
    Addresses,
}

fn overlaps(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// An allowed prefix with its location, and the forbidden prefix that it admits.
type FilterLeak = (Location, IpNet, IpNet);

/// Tests every speaker's filter with the forbidden prefixes, as the proof does.
fn find_leaks<'c>(context: &RuleContext<'c>) -> NodesByProblem<'c, FilterLeak> {
    let mut problems = NodesByProblem::new(context.plan);
    let speakers: Vec<GroupSpeaker<'_>> = speaker::speakers(context).collect();
    if speakers.iter().all(|speaking| speaking.written.allow.items().next().is_none()) {
        return problems;
    }
    let (protected, forbidden) = (crate::routing::protected(context.plan), forbidden(context.plan));
    for speaking in speakers {
        let node = &context.plan.nodes[speaking.nodes[0]];
        let Ok(Some(model)) = crate::routing::model(node, &protected) else { continue };
        let Some(workload) = model.workload else { continue };
        for allowed in speaking.written.allow.items() {
            let leaks = |net: &&IpNet| allowed.value.0.contains(*net) && workload.filter.admits(**net);
            if let Some(net) = forbidden.iter().find(leaks) {
                problems.add((allowed.place, allowed.value.0, *net), speaking.nodes, allowed.place);
            }
        }
    }
    problems
}

fn check_fabric(context: &RuleContext<'_>, findings: &mut Findings) {
    for ((place, allowed, net), affected) in find_leaks(context) {
        let message = format!("{allowed} allows the speaker to announce {net}, which belongs to the fabric");
        findings.add(allow_path(context, affected.first(), place), place, message);
    }
}

fn check_around(context: &RuleContext<'_>, findings: &mut Findings) {
    let leaking: Vec<Location> = find_leaks(context).into_iter().map(|((place, ..), _)| place).collect();
    let plan = &context.plan.cluster;
    let nodes = plan.node.iter().map(|(net, _)| FabricPart::Node(net));
    let loopbacks = plan.loopback.iter().map(|(net, _)| FabricPart::Loopback(net));
    let anycast = plan.anycast.iter().map(|net| FabricPart::Anycast(net.value));
    let parts: Vec<_> = nodes.chain(loopbacks).chain(anycast).collect();
    let mut problems = NodesByProblem::new(context.plan);
    for speaking in speaker::speakers(context) {
        for allowed in speaking.written.allow.items().filter(|allowed| !leaking.contains(&allowed.place)) {
            let (prefix, place) = (allowed.value.0, allowed.place);
            if let Some(part) = part_in(&parts, prefix) {
                problems.add((place, prefix, part), speaking.nodes, place);
                continue;
            }
            // Nodes may have addresses outside the cluster's prefixes.
            let inside = matching_nodes(context, speaking.nodes, |node| has_address_in(node, prefix));
            problems.add((place, prefix, FabricPart::Addresses), &inside, place);
        }
    }
    for ((place, allowed, part), affected) in problems {
        let message = match part {
            FabricPart::Default => {
                format!(
                    "{allowed} allows everything, but default routes and the cluster's own prefixes are rejected"
                )
            }
            FabricPart::Node(net) => overlap_message(allowed, net, "the node prefix"),
            FabricPart::Loopback(net) => overlap_message(allowed, net, "the loopback prefix"),
            FabricPart::Anycast(net) => overlap_message(allowed, net, "the API's anycast address"),
            FabricPart::Addresses => {
                format!("{allowed} contains addresses of {affected}, which are rejected")
            }
        };
        findings.add(allow_path(context, affected.first(), place), place, message);
    }
}

fn overlap_message(allowed: IpNet, net: IpNet, what: &str) -> String {
    if allowed.contains(&net) {
        format!("{allowed} contains {net}, {what}: routes inside it are rejected")
    } else {
        format!(
            "{allowed} is inside {net}, {what}: all of it is accepted, including addresses assigned later"
        )
    }
}

fn has_address_in(node: &NodePlan, prefix: IpNet) -> bool {
    node.address.iter().chain(node.loopback.iter()).any(|(net, _)| prefix.contains(&net.addr()))
}

fn part_in(parts: &[FabricPart], allowed: IpNet) -> Option<FabricPart> {
    if allowed.prefix_len() == 0 {
        return Some(FabricPart::Default);
    }
    parts.iter().copied().find(|part| match part {
        FabricPart::Default | FabricPart::Addresses => false,
        FabricPart::Node(net) | FabricPart::Loopback(net) | FabricPart::Anycast(net) => {
            overlaps(net, &allowed)
        }
    })
}

fn check_overlap(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for speaking in
        speaker::speakers(context).filter(|speaking| speaking.routing.backend.value == Backend::Native)
    {
        if let Some((outer, inner)) = overlapping(&speaking.workload.allow.value) {
            let place = imports_place(context, &speaking);
            problems.add((place, outer, inner), speaking.nodes, place);
        }
    }
    for ((place, outer, inner), affected) in problems {
        let message = if outer == inner {
            format!("{outer} is listed twice, and Talos rejects overlapping imports")
        } else {
            format!("{outer} contains {inner}, and Talos rejects overlapping imports")
        };
        findings.add(allow_path(context, affected.first(), place), place, message);
    }
}

fn imports_place(context: &RuleContext<'_>, speaking: &GroupSpeaker<'_>) -> Location {
    let pools = || context.cluster.network()?.services.get()?.pools.place();
    let written = speaking.written.allow.place().filter(|_| speaking.written.allow.items().next().is_some());
    written.or_else(pools).unwrap_or(speaking.workload.place)
}

/// The first prefix inside another one. In sorted order a prefix follows the one that contains it.
fn overlapping(prefixes: &[IpNet]) -> Option<(IpNet, IpNet)> {
    let mut sorted = prefixes.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).map(|pair| (pair[0], pair[1])).find(|(outer, inner)| outer.contains(inner))
}

fn check_misses_pool(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for speaking in speaker::speakers(context) {
        let Some(written) = speaking.written.allow.at().filter(|allow| !allow.value.0.is_empty()) else {
            continue;
        };
        for (name, prefixes) in &context.plan.cluster.pools {
            for pool in prefixes {
                if !written.value.values().any(|allowed| allowed.0.contains(&pool.value)) {
                    problems.add((written.place, name.as_str(), pool.value), speaking.nodes, written.place);
                }
            }
        }
    }
    for ((place, name, pool), affected) in problems {
        let message = format!("{pool} of pool {name} is not in `allow`, so the node does not announce it");
        findings.add(allow_path(context, affected.first(), place), place, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_prefixes_are_found_in_any_order() {
        let nets =
            |texts: &[&str]| -> Vec<IpNet> { texts.iter().map(|text| text.parse().unwrap()).collect() };

        assert_eq!(overlapping(&nets(&["10.2.0.0/16", "fd00::/64", "10.1.0.0/16"])), None);
        assert!(overlapping(&nets(&["10.1.9.0/24", "10.1.0.0/24", "10.1.0.0/16"])).is_some());
        assert!(overlapping(&nets(&["10.1.0.0/24", "10.1.0.0/24"])).is_some());
    }
}
