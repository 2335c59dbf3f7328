//! The instance toward the fabric, decided from the plan.

use std::net::IpAddr;

use ichor_bgp::model::fabric::{Announced, Fabric, Found, Inward, Neighbor, Outward};
use ichor_bgp::model::{Bfd, Family, Filter};
use ichor_bgp::setting::Advertise;
use ichor_values::LinkName;
use ipnet::IpNet;

use ichor_values::Prefix;
use ichor_values::key::List;

use crate::cluster::section::Addressing;
use crate::plan::{Decided, NeighborPlan, NodePlan, Peer, PolicyPlan, RoutingPlan};

/// The instance of a node.
pub(super) fn of(node: &NodePlan, plan: &RoutingPlan) -> Fabric {
    Fabric {
        neighbors: plan.neighbors.iter().map(|neighbor| session(node, neighbor)).collect(),
        announced: announced(node, &plan.advertise.value),
        aggregates: prefixes(plan.aggregates.as_ref()).map(|net| net.trunc()).collect(),
        inward: inward(&plan.policy),
        outward: outward(&plan.policy),
        graceful_restart: plan.graceful_restart.as_ref().map(|seconds| seconds.value),
    }
}

fn prefixes(list: Option<&Decided<List<Prefix>>>) -> impl Iterator<Item = IpNet> {
    list.into_iter().flat_map(|list| list.value.values()).map(|prefix| prefix.0)
}

fn session(node: &NodePlan, plan: &NeighborPlan) -> Neighbor {
    let found = match &plan.peer {
        Peer::Link(link) => {
            let port = node.ports.iter().find(|port| port.name == *link);
            let mac = port.and_then(|port| port.mac.as_ref()).map(|mac| mac.value);
            Found::Port { name: link.clone(), mac }
        }
        Peer::Address(address) => Found::Address { address: *address, source: source(node, *address) },
    };
    Neighbor {
        found,
        asn: plan.asn(),
        families: families(plan),
        bfd: plan.bfd.as_ref().map(Bfd::from),
        timers: plan.timers.value,
        passive: plan.passive.value,
        password: plan.password.as_ref().map(|password| password.value.clone()),
    }
}

/// An IPv4 session carries IPv4. One over IPv6 carries both, unless the router is known to take no IPv4 there.
fn families(plan: &NeighborPlan) -> Vec<Family> {
    match plan.peer {
        Peer::Address(IpAddr::V4(_)) => vec![Family::V4],
        Peer::Address(IpAddr::V6(_)) if !plan.extended_nexthop => vec![Family::V6],
        Peer::Address(IpAddr::V6(_)) | Peer::Link(_) => Family::ALL.to_vec(),
    }
}

/// The node's address in the neighbour's network. One that DHCP gives is not known here.
fn source(node: &NodePlan, neighbor: IpAddr) -> Option<IpAddr> {
    let fixed = node.addressing.value == Addressing::Static;
    let own = node.address.iter().map(|(net, _)| net).find(|net| net.contains(&neighbor));
    own.filter(|_| fixed).map(|net| net.addr())
}

fn announced(node: &NodePlan, advertise: &[Advertise]) -> Vec<Announced> {
    let lo = LinkName::parse("lo").expect("a link name");
    let loopback = node.loopback.iter().map(|(net, _)| (Advertise::Loopback, lo.clone(), net));
    let dummies = node.dummies.iter().flat_map(|dummy| {
        let kind = if dummy.anycast { Advertise::Anycast } else { Advertise::Dummy };
        dummy.address.iter().map(move |(net, _)| (kind, dummy.name.clone(), net))
    });
    loopback
        .chain(dummies)
        .filter(|(kind, ..)| advertise.contains(kind))
        .map(|(kind, link, net)| Announced { kind, link, net: IpNet::from(net.addr()) })
        .collect()
}

fn inward(policy: &PolicyPlan) -> Inward {
    let allow: Vec<IpNet> = prefixes(policy.allow.as_ref()).collect();
    Inward {
        filter: Filter::allowing(&allow),
        max_prefixes: policy.max_prefixes.as_ref().map(|most| most.value),
        local_preference: policy.local_preference.as_ref().map(|preference| preference.value),
    }
}

fn outward(policy: &PolicyPlan) -> Outward {
    Outward {
        communities: policy.communities.iter().flat_map(|list| list.value.values()).cloned().collect(),
        prepend: policy.prepend.value,
    }
}
