//! `fabric`: the routers around the nodes.

use std::net::{IpAddr, Ipv4Addr};

pub use ichor_bgp::setting::{RouterRole, Software};
use ichor_values::key::List;
use ichor_values::record;
use ichor_values::{Asn, Pair, PortRef, Prefix, Secret, SoftwareVersion, Text, Toggle, Word};

use super::Bfd;

record! {
    /// The routers around the nodes, which ichor configures, analyses and runs in the lab.
    Fabric "routers and cables" {
        /// The routers.
        routers: List<Router> = "none", "[{name: leaf1, role: leaf, asn: 65101}]";
        /// Cables between ports.
        cables: List<Pair<PortRef>> = "a node's n-th port to the n-th leaf, every leaf to every spine", "[[solcp01:fab0, leaf1:swp1]]";
    }
}

record! {
    /// One router.
    Router "a router" {
        /// Name.
        name: Word = "required", "leaf1";
        /// Role in the fabric.
        role: RouterRole = "leaf", "leaf";
        /// AS number.
        asn: Asn = "required", "65101";
        /// Router ID.
        router_id: Ipv4Addr = "its first IPv4 address, else 10.255.255.N for the N-th router", "10.255.255.1";
        /// Addresses on the links to the nodes.
        addresses: List<IpAddr> = "none: unnumbered", "[\"fd00:101::fffe\"]";
        /// Routing software.
        software: Software = "frr", "frr";
        /// Release of the software, to check for its known bugs.
        version: SoftwareVersion = "unknown", "10.3.1";
        /// VRF of the sessions.
        vrf: Text = "not set", "evpnz1";
        /// Listen range: prefix from which the router accepts nodes without per-node configuration.
        listen: Prefix = "not set: every node is configured", "\"fd00:101::/64\"";
        /// Whether it accepts IPv4 routes with IPv6 next hops on numbered sessions (extended next hop).
        extended_nexthop: bool = "true for FRR, false for RouterOS, else unknown", "true";
        /// BFD on the router.
        bfd: Toggle<Bfd> = "as on the nodes", "true";
        /// Password of the sessions.
        password: Secret = "not set", "{env: BGP_PW}";
        /// Access for ichor.
        reach: Reach = "not set", "{ssh: root@leaf1}";
    }
}

impl Router {
    /// Whether it accepts IPv4 routes with IPv6 next hops on numbered sessions: as written, else by its software.
    ///
    /// FRR does with the configuration that ichor writes; RouterOS has no setting for it.
    pub(crate) fn supports_extended_nexthop(&self) -> Option<bool> {
        self.extended_nexthop.value().or(match self.software.value().unwrap_or(Software::Frr) {
            Software::Frr => Some(true),
            Software::Routeros => Some(false),
            Software::Other => None,
        })
    }
}

record! {
    /// Access of ichor to a router.
    Reach "access to a router" {
        /// User and host for SSH.
        ssh: Text = "not set", "root@leaf1";
    }
}
