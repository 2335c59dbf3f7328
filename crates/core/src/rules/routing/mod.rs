//! BGP: sessions with the fabric, the speaker of service addresses, and the limits of backends and the kernel.
//!
//! Most rules here use `session`, which lists each session once per BGP group.

mod aggregate;
mod alias;
mod allow;
mod asn;
mod backend;
mod bfd;
mod cable;
mod daemon;
mod listen;
mod listener;
mod metallb;
mod mtu;
mod neighbor;
mod nexthop;
mod policy;
mod session;
mod software;
mod speaker;
mod template;
mod vrf;

use super::RuleGroup;

/// The rules by subject.
pub(super) const GROUPS: &[RuleGroup] = &[
    ("AS numbers", asn::RULES),
    ("Neighbours", neighbor::RULES),
    ("Port names", alias::RULES),
    ("Cables", cable::RULES),
    ("Listen ranges", listen::RULES),
    ("Router software", software::RULES),
    ("Next hops", nexthop::RULES),
    ("BFD", bfd::RULES),
    ("MTU for IPv6", mtu::RULES),
    ("The speaker", speaker::RULES),
    ("MetalLB", metallb::RULES),
    ("Prefixes from the speaker", allow::RULES),
    ("Aggregates", aggregate::RULES),
    ("Policies", policy::RULES),
    ("VRFs", vrf::RULES),
    ("Daemons", daemon::RULES),
    ("Listeners", listener::RULES),
    ("Backends", backend::RULES),
    ("Templates", template::RULES),
];
