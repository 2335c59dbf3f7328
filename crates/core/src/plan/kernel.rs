//! Kernel arguments, modules and sysctls of a node.

use std::collections::BTreeMap;

use super::derive::Derivation;
use super::{Decided, RoutingPlan};
use crate::cluster::section::{Kernel, NodeSettings};
use ichor_bgp::setting::Isolation;
use ichor_values::Backend;

/// Sysctls that routing requires: forwarding, multipath hashing by ports, and replies over another path than the request.
const ROUTING: [(&str, &str); 7] = [
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.fib_multipath_hash_policy", "1"),
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv6.conf.default.forwarding", "1"),
    ("net.ipv6.fib_multipath_hash_policy", "1"),
];

/// Kernel settings of a node.
#[derive(Debug)]
pub struct KernelPlan {
    /// Arguments.
    pub args: Vec<Decided<String>>,
    /// Modules to load.
    pub(crate) modules: Vec<Decided<String>>,
    /// Sysctls by key.
    pub(crate) sysctls: BTreeMap<String, Decided<String>>,
}

/// Decides the kernel settings of a node.
pub fn plan(settings: &NodeSettings, routing: Option<&RoutingPlan>) -> KernelPlan {
    let none = Kernel::default();
    let kernel = settings.kernel.get().unwrap_or(&none);
    let args = kernel.args.items().map(|at| Decided::written(at.value.to_string(), at.place)).collect();
    KernelPlan { args, modules: modules(kernel, routing), sysctls: sysctls(kernel, routing) }
}

/// The modules of the file, and `vrf` if a VRF is used, because an extension cannot load it.
fn modules(kernel: &Kernel, routing: Option<&RoutingPlan>) -> Vec<Decided<String>> {
    let written = kernel.modules.items().map(|at| Decided::written(at.value.to_string(), at.place));
    let mut modules: Vec<Decided<String>> = written.collect();
    let daemon = routing.filter(|routing| routing.backend.value != Backend::Native);
    let vrf = daemon
        .and_then(|routing| routing.workload.as_ref())
        .filter(|workload| workload.isolation.value == Isolation::Vrf);
    if let Some(workload) = vrf
        && !modules.iter().any(|module| module.value == "vrf")
    {
        modules.push(Decided::derived("vrf".to_owned(), Derivation::NeededByRouting, Some(workload.place)));
    }
    modules
}

/// The sysctls that routing requires, overridden by those of the file.
fn sysctls(kernel: &Kernel, routing: Option<&RoutingPlan>) -> BTreeMap<String, Decided<String>> {
    let requirement = |value: &str| Decided::derived(value.to_owned(), Derivation::NeededByRouting, None);
    let required =
        routing.into_iter().flat_map(|_| ROUTING).map(|(key, value)| (key.to_owned(), requirement(value)));
    let written = kernel.sysctls.entries();
    let written =
        written.map(|(key, at)| (key.to_string(), Decided::written(at.value.to_string(), at.place)));
    required.chain(written).collect()
}
