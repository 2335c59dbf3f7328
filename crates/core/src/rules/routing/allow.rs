//! What is taken from the speaker.

use ipnet::IpNet;

use super::session::those;
use super::speaker::{self, Speaking};
use crate::model::rung;
use crate::plan::NodePlan;
use crate::routing::protected::forbidden;
use crate::rules::roll::Rolls;
use crate::rules::{Context, Found, Rule, Severity};
use ichor_values::Backend;
use ichor_values::Place;

pub(super) const RULES: &[Rule] = &[FABRIC, AROUND, OVERLAP, MISSES_POOL];

const FABRIC: Rule = Rule {
    id: "allow-fabric",
    severity: Severity::Error,
    summary: "the speaker may announce an address of the fabric",
    failure: "If a service pool contains a node's address by mistake, the speaker announces it, and the fabric sends \
              that node's traffic to another node, including that of the kubelet and etcd.",
    fix: "allow the service pools, and no prefix that contains a node, loopback, router or anycast address",
    look: fabric,
};

const AROUND: Rule = Rule {
    id: "allow-around-fabric",
    severity: Severity::Warning,
    summary: "the prefixes that the speaker may announce overlap the fabric",
    failure: "The filter excludes the cluster's own prefixes and default routes from `allow`. The node drops the \
              routes of a service pool inside one of them.",
    fix: "allow the service pools only, and keep them apart from nodes, loopbacks and anycast addresses",
    look: around,
};

const OVERLAP: Rule = Rule {
    id: "imports-overlap",
    severity: Severity::Error,
    summary: "prefixes that Talos imports overlap",
    failure: "Talos rejects overlapping import selectors, and with them the whole machine configuration.",
    fix: "keep the larger of the two prefixes",
    look: overlap,
};

const MISSES_POOL: Rule = Rule {
    id: "allow-misses-pool",
    severity: Severity::Warning,
    summary: "the node does not announce addresses of a service pool",
    failure: "Services get addresses from the pool and the speaker announces them, but the node drops them because \
              `allow` does not contain the pool.",
    fix: "add the pool to `allow`, or leave `allow` out to allow all pools",
    look: misses_pool,
};

/// The path of `allow` where it is written, else of the pools it follows from.
fn path(context: &Context<'_>, node: &NodePlan, place: Place) -> String {
    let written = rung::find(context.cluster, node.nth, |rung| {
        let allow = &rung.routing.get()?.workload.get()?.allow;
        let is_here = allow.place() == Some(place) || allow.items().any(|item| item.place == place);
        is_here.then_some(())
    });
    written
        .map_or_else(|| "network.services.pools".to_owned(), |(step, ())| step.path("routing.workload.allow"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Default,
    Node(IpNet),
    Loopback(IpNet),
    Anycast(IpNet),
    Addresses,
}

fn overlaps(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// Where something is allowed, the prefix, and what it lets through.
type Leak = (Place, IpNet, IpNet);

/// Tries to get through every speaker's filter what must not pass, as the proof does.
fn leaks<'c>(context: &Context<'c>) -> Rolls<'c, Leak> {
    let mut rolls = Rolls::new(context.plan);
    let speaking: Vec<Speaking<'_>> = speaker::speakers(context).collect();
    if speaking.iter().all(|speaking| speaking.written.allow.items().next().is_none()) {
        return rolls;
    }
    let (protected, forbidden) = (crate::routing::protected(context.plan), forbidden(context.plan));
    for speaking in speaking {
        let node = &context.plan.nodes[speaking.nodes[0]];
        let Ok(Some(model)) = crate::routing::model(node, &protected) else { continue };
        let Some(workload) = model.workload else { continue };
        for allowed in speaking.written.allow.items() {
            let through = |net: &&IpNet| allowed.value.0.contains(*net) && workload.filter.admits(**net);
            if let Some(net) = forbidden.iter().find(through) {
                rolls.add((allowed.place, allowed.value.0, *net), speaking.nodes, allowed.place);
            }
        }
    }
    rolls
}

fn fabric(context: &Context<'_>, found: &mut Found) {
    for ((place, allowed, net), roll) in leaks(context) {
        let message = format!("{allowed} lets the speaker announce {net}, which is not its own");
        found.at(path(context, roll.first(), place), place, message);
    }
}

fn around(context: &Context<'_>, found: &mut Found) {
    let leaking: Vec<Place> = leaks(context).into_iter().map(|((place, ..), _)| place).collect();
    let plan = &context.plan.cluster;
    let nodes = plan.node.iter().map(|(net, _)| Part::Node(net));
    let loopbacks = plan.loopback.iter().map(|(net, _)| Part::Loopback(net));
    let anycast = plan.anycast.iter().map(|net| Part::Anycast(net.value));
    let parts: Vec<_> = nodes.chain(loopbacks).chain(anycast).collect();
    let mut rolls = Rolls::new(context.plan);
    for speaking in speaker::speakers(context) {
        for allowed in speaking.written.allow.items().filter(|allowed| !leaking.contains(&allowed.place)) {
            let (prefix, place) = (allowed.value.0, allowed.place);
            if let Some(part) = part_in(&parts, prefix) {
                rolls.add((place, prefix, part), speaking.nodes, place);
                continue;
            }
            // Nodes may have addresses of their own, outside the cluster's prefixes.
            let inside = those(context, speaking.nodes, |node| has_address_in(node, prefix));
            rolls.add((place, prefix, Part::Addresses), &inside, place);
        }
    }
    for ((place, allowed, part), roll) in rolls {
        let message = match part {
            Part::Default => {
                format!("{allowed} is everything, but no default route and no prefix of the cluster is taken")
            }
            Part::Node(net) => beside(allowed, net, "nodes are"),
            Part::Loopback(net) => beside(allowed, net, "the nodes' loopbacks are"),
            Part::Anycast(net) => beside(allowed, net, "the API's anycast address is"),
            Part::Addresses => format!("{allowed} takes in addresses of {roll}, and those are not taken"),
        };
        found.at(path(context, roll.first(), place), place, message);
    }
}

fn beside(allowed: IpNet, net: IpNet, who: &str) -> String {
    if allowed.contains(&net) {
        format!("{allowed} takes in {net}, where {who}: nothing there is taken")
    } else {
        format!(
            "{allowed} lies in {net}, where {who}: all of it is taken, also an address that they get later"
        )
    }
}

fn has_address_in(node: &NodePlan, prefix: IpNet) -> bool {
    node.address.iter().chain(node.loopback.iter()).any(|(net, _)| prefix.contains(&net.addr()))
}

fn part_in(parts: &[Part], allowed: IpNet) -> Option<Part> {
    if allowed.prefix_len() == 0 {
        return Some(Part::Default);
    }
    parts.iter().copied().find(|part| match part {
        Part::Default | Part::Addresses => false,
        Part::Node(net) | Part::Loopback(net) | Part::Anycast(net) => overlaps(net, &allowed),
    })
}

fn overlap(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for speaking in
        speaker::speakers(context).filter(|speaking| speaking.routing.backend.value == Backend::Native)
    {
        if let Some((outer, inner)) = overlapping(&speaking.workload.allow.value) {
            let place = imports_place(context, &speaking);
            rolls.add((place, outer, inner), speaking.nodes, place);
        }
    }
    for ((place, outer, inner), roll) in rolls {
        let message = if outer == inner {
            format!("{outer} is there twice, and Talos refuses overlapping imports")
        } else {
            format!("{outer} contains {inner}, and Talos refuses overlapping imports")
        };
        found.at(path(context, roll.first(), place), place, message);
    }
}

fn imports_place(context: &Context<'_>, speaking: &Speaking<'_>) -> Place {
    let pools = || context.cluster.network()?.services.get()?.pools.place();
    let written = speaking.written.allow.place().filter(|_| speaking.written.allow.items().next().is_some());
    written.or_else(pools).unwrap_or(speaking.workload.place)
}

/// The first prefix that lies in another one: sorted, what contains a prefix comes before it.
fn overlapping(prefixes: &[IpNet]) -> Option<(IpNet, IpNet)> {
    let mut sorted = prefixes.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).map(|pair| (pair[0], pair[1])).find(|(outer, inner)| outer.contains(inner))
}

fn misses_pool(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for speaking in speaker::speakers(context) {
        let Some(written) = speaking.written.allow.at().filter(|allow| !allow.value.0.is_empty()) else {
            continue;
        };
        for (name, prefixes) in &context.plan.cluster.pools {
            for pool in prefixes {
                if !written.value.values().any(|allowed| allowed.0.contains(&pool.value)) {
                    rolls.add((written.place, name.as_str(), pool.value), speaking.nodes, written.place);
                }
            }
        }
    }
    for ((place, name, pool), roll) in rolls {
        let message = format!("{pool} of pool {name} is not allowed: its addresses never leave the node");
        found.at(path(context, roll.first(), place), place, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlap_is_found_between_any_two() {
        let nets =
            |texts: &[&str]| -> Vec<IpNet> { texts.iter().map(|text| text.parse().unwrap()).collect() };

        assert_eq!(overlapping(&nets(&["10.2.0.0/16", "fd00::/64", "10.1.0.0/16"])), None);
        assert!(overlapping(&nets(&["10.1.9.0/24", "10.1.0.0/24", "10.1.0.0/16"])).is_some());
        assert!(overlapping(&nets(&["10.1.0.0/24", "10.1.0.0/24"])).is_some());
    }
}
