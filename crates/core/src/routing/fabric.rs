//! The BGP instance toward the fabric.

use std::net::IpAddr;

use ichor_bgp::model::fabric::{AnnouncedAddress, ExportPolicy, Fabric, ImportPolicy, Neighbor, PeerAddress};
use ichor_bgp::model::{Bfd, Family, PrefixFilter};
use ichor_bgp::setting::Advertise;
use ichor_values::LinkName;
use ipnet::IpNet;

use ichor_values::Prefix;
use ichor_values::key::List;

use crate::cluster::section::Addressing;
use crate::plan::{Decided, NeighborAddress, NeighborPlan, NodePlan, PolicyPlan, RoutingPlan};

/// The fabric instance of a node.
pub(super) fn fabric_instance(node: &NodePlan, plan: &RoutingPlan) -> Fabric {
    Fabric {
        neighbors: plan.neighbors.iter().map(|neighbor| neighbor_model(node, neighbor)).collect(),
        announced: announced_addresses(node, &plan.advertise.value),
        aggregates: prefixes(plan.aggregates.as_ref()).map(|net| net.trunc()).collect(),
        inward: import_policy(&plan.policy),
        outward: export_policy(&plan.policy),
        graceful_restart: plan.graceful_restart.as_ref().map(|seconds| seconds.value),
    }
}

fn prefixes(list: Option<&Decided<List<Prefix>>>) -> impl Iterator<Item = IpNet> {
    list.into_iter().flat_map(|list| list.value.values()).map(|prefix| prefix.0)
}

fn neighbor_model(node: &NodePlan, plan: &NeighborPlan) -> Neighbor {
    let found = match &plan.peer {
        NeighborAddress::Link(link) => {
            let port = node.ports.iter().find(|port| port.name == *link);
            let mac = port.and_then(|port| port.mac.as_ref()).map(|mac| mac.value);
            PeerAddress::Port { name: link.clone(), mac }
        }
        NeighborAddress::Address(address) => {
            PeerAddress::Address { address: *address, source: source_address(node, *address) }
        }
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

/// An IPv4 session carries IPv4. A session over IPv6 carries both, unless the router lacks extended next hop.
fn families(plan: &NeighborPlan) -> Vec<Family> {
    match plan.peer {
        NeighborAddress::Address(IpAddr::V4(_)) => vec![Family::V4],
        NeighborAddress::Address(IpAddr::V6(_)) if !plan.extended_nexthop => vec![Family::V6],
        NeighborAddress::Address(IpAddr::V6(_)) | NeighborAddress::Link(_) => Family::ALL.to_vec(),
    }
}

/// The node's address in the neighbour's network; unknown with DHCP.
fn source_address(node: &NodePlan, neighbor: IpAddr) -> Option<IpAddr> {
    let fixed = node.addressing.value == Addressing::Static;
    let own = node.address.iter().map(|(net, _)| net).find(|net| net.contains(&neighbor));
    own.filter(|_| fixed).map(|net| net.addr())
}

fn announced_addresses(node: &NodePlan, advertise: &[Advertise]) -> Vec<AnnouncedAddress> {
    let lo = LinkName::parse("lo").expect("a link name");
    let loopback = node.loopback.iter().map(|(net, _)| (Advertise::Loopback, lo.clone(), net));
    let dummies = node.dummies.iter().flat_map(|dummy| {
        let kind = if dummy.anycast { Advertise::Anycast } else { Advertise::Dummy };
        dummy.address.iter().map(move |(net, _)| (kind, dummy.name.clone(), net))
    });
    loopback
        .chain(dummies)
        .filter(|(kind, ..)| advertise.contains(kind))
        .map(|(kind, link, net)| AnnouncedAddress { kind, link, net: IpNet::from(net.addr()) })
        .collect()
}

fn import_policy(policy: &PolicyPlan) -> ImportPolicy {
    let allow: Vec<IpNet> = prefixes(policy.allow.as_ref()).collect();
    ImportPolicy {
        filter: PrefixFilter::allowing(&allow),
        max_prefixes: policy.max_prefixes.as_ref().map(|most| most.value),
        local_preference: policy.local_preference.as_ref().map(|preference| preference.value),
    }
}

fn export_policy(policy: &PolicyPlan) -> ExportPolicy {
    ExportPolicy {
        communities: policy.communities.iter().flat_map(|list| list.value.values()).cloned().collect(),
        prepend: policy.prepend.value,
    }
}
