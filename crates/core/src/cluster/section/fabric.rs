//! `fabric`: the routers around the nodes.

use std::net::{IpAddr, Ipv4Addr};

pub use ichor_bgp::setting::{RouterRole, Software};
use ichor_values::key::List;
use ichor_values::record;
use ichor_values::{Asn, Pair, PortRef, Prefix, Secret, SoftwareVersion, Text, Toggle, Word};

use super::Bfd;

record! {
    /// The routers around the nodes, as far as ichor shall know, write, prove or run them.
    Fabric "routers and cables" {
        /// The routers.
        routers: List<Router> = "none", "[{name: leaf1, role: leaf, asn: 65101}]";
        /// Which port leads where.
        cables: List<Pair<PortRef>> = "a node's n-th port to the n-th leaf, every leaf to every spine", "[[solcp01:fab0, leaf1:swp1]]";
    }
}

record! {
    /// One router.
    Router "a router" {
        /// Its name.
        name: Word = "required", "leaf1";
        /// What it is in the fabric.
        role: RouterRole = "leaf", "leaf";
        /// Its AS number.
        asn: Asn = "required", "65101";
        /// Its router id.
        router_id: Ipv4Addr = "its first IPv4 address, else 10.255.255.N for the N-th router", "10.255.255.1";
        /// Its addresses toward the nodes.
        addresses: List<IpAddr> = "none: unnumbered", "[\"fd00:101::fffe\"]";
        /// What it runs.
        software: Software = "frr", "frr";
        /// The release of it, because some faults are its own.
        version: SoftwareVersion = "unknown", "10.3.1";
        /// VRF its side of the sessions is in.
        vrf: Text = "none", "evpnz1";
        /// Prefix from which it accepts nodes that are not listed one by one.
        listen: Prefix = "none: every node is listed", "\"fd00:101::/64\"";
        /// Whether it takes IPv4 routes over IPv6 next hops on numbered sessions.
        extended_nexthop: bool = "true for FRR, false for RouterOS, else unknown", "true";
        /// BFD on its side.
        bfd: Toggle<Bfd> = "as on the nodes", "true";
        /// Password of its sessions.
        password: Secret = "none", "{env: BGP_PW}";
        /// How ichor reaches it.
        reach: Reach = "not at all", "{ssh: root@leaf1}";
    }
}

impl Router {
    /// Whether it takes IPv4 routes over IPv6 next hops on numbered sessions: as it is written, else as far as its software
    /// is known. FRR does where ichor writes its configuration; RouterOS has no setting for it.
    pub(crate) fn takes_v4_over_v6(&self) -> Option<bool> {
        self.extended_nexthop.value().or(match self.software.value().unwrap_or(Software::Frr) {
            Software::Frr => Some(true),
            Software::Routeros => Some(false),
            Software::Other => None,
        })
    }
}

record! {
    /// How ichor reaches a router.
    Reach "a way to reach it" {
        /// User and host for ssh.
        ssh: Text = "none", "root@leaf1";
    }
}
