//! Sysctls, by their path below `/proc/sys`.

use std::collections::BTreeMap;
use std::fmt;

use super::{KernelState, Step, Wiring};
use crate::model::RoutingDomain;

/// A sysctl and its required value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// Its path below `/proc/sys`.
    pub path: String,
    /// Its value.
    pub value: &'static str,
}

/// Values of sysctls, by their path below `/proc/sys`.
pub type Sysctls = BTreeMap<String, String>;

/// Records the values of sysctls before steps change them. A recorded value is kept: the sysctl has been changed since.
pub fn record_sysctls(steps: &[Step], observed: &KernelState, before: &mut Sysctls) {
    for step in steps {
        if let Step::Sysctl(sysctl) = step
            && let Some(value) = observed.sysctls.get(&sysctl.path)
        {
            before.entry(sysctl.path.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// Sysctls of the node: it forwards packets, balances them over all next hops by port numbers as well, and accepts
/// those that return through the other leaf. `default` applies to links that are created later.
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

    /// IPv6 on a link, or on links that are created later (`default`).
    pub(super) fn enable_ipv6(link: &str) -> Self {
        Self::new(format!("net/ipv6/conf/{link}/disable_ipv6"), "0")
    }
}

impl fmt::Display for Sysctl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.path, self.value)
    }
}

/// The sysctls of the node.
pub(super) fn node_sysctls() -> impl Iterator<Item = Sysctl> {
    NODE.iter().map(|(path, value)| Sysctl::new(*path, value))
}

impl Wiring {
    /// The sysctls of a fabric port.
    pub(super) fn port_sysctls(&self, port: &str) -> Vec<Sysctl> {
        let mut sysctls = vec![
            Sysctl::enable_ipv6(port),
            Sysctl::new(format!("net/ipv4/conf/{port}/rp_filter"), "0"),
            // The link-local address must be the same after every start: a leaf with BFD may keep the old one
            // permanently.
            Sysctl::new(format!("net/ipv6/conf/{port}/addr_gen_mode"), "0"),
        ];
        if self.accept_advertisements {
            // A host that forwards packets ignores router advertisements unless this is 2.
            sysctls.push(Sysctl::new(format!("net/ipv6/conf/{port}/accept_ra"), "2"));
        }
        sysctls
    }

    /// The path of every sysctl that the next steps depend on.
    pub fn sysctl_paths(&self) -> Vec<String> {
        self.managed_sysctls().into_iter().map(|sysctl| sysctl.path).collect()
    }

    /// Every sysctl that the agent may change.
    pub(super) fn managed_sysctls(&self) -> Vec<Sysctl> {
        let ports = self.ports.iter().flat_map(|port| self.port_sysctls(port));
        let made = self.created_links().into_iter().chain(["default"]).map(Sysctl::enable_ipv6);
        node_sysctls().chain(ports).chain(made).collect()
    }

    /// The links that the agent creates in the node's own namespace.
    fn created_links(&self) -> Vec<&str> {
        let mut links: Vec<&str> = self.extra_addresses.iter().map(|extra| extra.link.as_str()).collect();
        if let Some(pair) = &self.pair {
            links.extend([pair.ours.0.as_str(), pair.theirs.0.as_str()]);
            if let RoutingDomain::Vrf { name, .. } = &pair.domain {
                links.push(name);
            }
        }
        links
    }
}
