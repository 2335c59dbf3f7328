//! The addresses of nodes, their purpose and their scope.

use std::net::IpAddr;

use crate::plan::{NodePlan, Origin, Prefixes};
use ichor_values::LinkName;

/// The purpose of a node's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) enum AddressPurpose<'p> {
    /// The node itself.
    Node,
    /// The loopback, reachable through any link.
    Loopback,
    /// Services on the host.
    Dummy(&'p LinkName),
    /// A further link.
    Link(&'p LinkName),
}

impl AddressPurpose<'_> {
    /// The node's key that sets it.
    pub fn key(self, address: IpAddr) -> String {
        let family = if address.is_ipv4() { "v4" } else { "v6" };
        match self {
            Self::Node => format!("network.node.{family}"),
            Self::Loopback => format!("network.loopback.{family}"),
            Self::Dummy(name) => format!("network.dummy.{name}.{family}"),
            Self::Link(name) => format!("links.{name}.addresses"),
        }
    }
}

/// One address of a node.
#[derive(Clone, Copy, Debug)]
pub(in crate::rules) struct NodeAddress<'p> {
    /// The address with the length of its prefix.
    pub net: ipnet::IpNet,
    /// Its purpose.
    pub purpose: AddressPurpose<'p>,
    /// Its origin.
    pub origin: Origin,
}

/// The addresses that only this node has, without anycast.
pub(in crate::rules) fn unicast_addresses(node: &NodePlan) -> impl Iterator<Item = NodeAddress<'_>> {
    let assigned = |prefixes, purpose| {
        Prefixes::iter(prefixes).map(move |(net, origin)| NodeAddress { net, purpose, origin })
    };
    let dummies = node.dummies.iter().filter(|dummy| !dummy.anycast);
    assigned(&node.address, AddressPurpose::Node)
        .chain(assigned(&node.loopback, AddressPurpose::Loopback))
        .chain(dummies.flat_map(move |dummy| assigned(&dummy.address, AddressPurpose::Dummy(&dummy.name))))
        .chain(link_addresses(node))
}

/// The addresses of further links, without a repetition of the node's own address.
fn link_addresses(node: &NodePlan) -> impl Iterator<Item = NodeAddress<'_>> {
    let is_node_address = |name: &LinkName, address: IpAddr| {
        *name == node.link.value && node.address.iter().any(|(net, _)| net.addr() == address)
    };
    node.written().links.items().filter_map(|link| Some((link.value.name.get()?, &link.value))).flat_map(
        move |(name, link)| {
            let addresses =
                link.addresses.items().filter(move |at| !is_node_address(name, at.value.0.addr()));
            addresses.map(move |at| NodeAddress {
                net: at.value.0,
                purpose: AddressPurpose::Link(name),
                origin: Origin::Written(at.place),
            })
        },
    )
}

/// Whether an address is local to a site that only an overlay connects: other sites may use it again.
pub(in crate::rules) fn is_site_local(node: &NodePlan, purpose: AddressPurpose<'_>) -> bool {
    matches!(purpose, AddressPurpose::Node | AddressPurpose::Link(_))
        && node.site.is_some()
        && node.joins_overlay()
}

/// Whether an address is routed on the Internet.
pub(in crate::rules) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            // RFC 6598: behind a carrier's NAT.
            let shared = a == 100 && (64..128).contains(&b);
            let inside = v4.is_private() || v4.is_loopback() || v4.is_link_local() || shared;
            !(inside || v4.is_multicast() || v4.is_unspecified() || v4.is_broadcast())
        }
        IpAddr::V6(v6) => v6.segments()[0] & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_shared_and_local_addresses_are_not_public() {
        let public = |text: &str| is_public(text.parse().unwrap());

        for inside in ["10.0.0.1", "172.31.0.1", "192.168.1.1", "100.64.0.1", "100.127.255.254", "127.0.0.1"]
        {
            assert!(!public(inside), "{inside}");
        }
        for inside in ["169.254.0.1", "0.0.0.0", "fd00:101::11", "fe80::1", "::1"] {
            assert!(!public(inside), "{inside}");
        }
        for outside in ["8.8.8.8", "203.0.113.20", "172.32.0.1", "100.128.0.1", "2001:db8::1", "2a00::1"] {
            assert!(public(outside), "{outside}");
        }
    }
}
