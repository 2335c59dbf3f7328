//! Switches of the kernel, by their path below `/proc/sys`.

use std::collections::BTreeMap;
use std::fmt;

use super::{KernelState, Step, Wiring};
use crate::model::RoutingDomain;

/// A switch and what it must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// Its path below `/proc/sys`.
    pub path: String,
    /// Its value.
    pub value: &'static str,
}

/// Switches by their path below `/proc/sys`, and what they say.
pub type Sysctls = BTreeMap<String, String>;

/// Notes what switches said before steps turn them. What is noted already stays: it was turned since.
pub fn note(steps: &[Step], observed: &KernelState, before: &mut Sysctls) {
    for step in steps {
        if let Step::Switch(switch) = step
            && let Some(value) = observed.switches.get(&switch.path)
        {
            before.entry(switch.path.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// What holds for the whole node: packets are forwarded, spread over all ways by port numbers too, and may come back through
/// the other leaf. `default` is what links have that are made later.
const NODE: &[(&str, &str)] = &[
    ("net/ipv4/ip_forward", "1"),
    ("net/ipv6/conf/all/forwarding", "1"),
    ("net/ipv6/conf/default/forwarding", "1"),
    ("net/ipv4/fib_multipath_hash_policy", "1"),
    ("net/ipv6/fib_multipath_hash_policy", "1"),
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
];

impl Sysctl {
    fn new(path: impl Into<String>, value: &'static str) -> Self {
        Self { path: path.into(), value }
    }

    /// IPv6 on a link, or on those that are made later (`default`).
    pub(super) fn ipv6_of(link: &str) -> Self {
        Self::new(format!("net/ipv6/conf/{link}/disable_ipv6"), "0")
    }
}

impl fmt::Display for Sysctl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.path, self.value)
    }
}

/// Those of the whole node.
pub(super) fn node() -> impl Iterator<Item = Sysctl> {
    NODE.iter().map(|(path, value)| Sysctl::new(*path, value))
}

impl Wiring {
    /// Those of a fabric port.
    pub(super) fn switches_of(&self, port: &str) -> Vec<Sysctl> {
        let mut switches = vec![
            Sysctl::ipv6_of(port),
            Sysctl::new(format!("net/ipv4/conf/{port}/rp_filter"), "0"),
            // The link-local address must be the same after every start: a leaf with BFD may know the old one for ever.
            Sysctl::new(format!("net/ipv6/conf/{port}/addr_gen_mode"), "0"),
        ];
        if self.accept_advertisements {
            // Whoever forwards takes no advertisements, unless told twice.
            switches.push(Sysctl::new(format!("net/ipv6/conf/{port}/accept_ra"), "2"));
        }
        switches
    }

    /// The path of every switch that matters for the next steps.
    pub fn switches(&self) -> Vec<String> {
        self.turned().into_iter().map(|switch| switch.path).collect()
    }

    /// Every switch that the agent may turn.
    pub(super) fn turned(&self) -> Vec<Sysctl> {
        let ports = self.ports.iter().flat_map(|port| self.switches_of(port));
        let made = self.made_here().into_iter().chain(["default"]).map(Sysctl::ipv6_of);
        node().chain(ports).chain(made).collect()
    }

    /// The links that are made in the node's own namespace.
    fn made_here(&self) -> Vec<&str> {
        let mut links: Vec<&str> = self.carried.iter().map(|carried| carried.link.as_str()).collect();
        if let Some(pair) = &self.pair {
            links.extend([pair.ours.0.as_str(), pair.theirs.0.as_str()]);
            if let RoutingDomain::Vrf { name, .. } = &pair.domain {
                links.push(name);
            }
        }
        links
    }
}
