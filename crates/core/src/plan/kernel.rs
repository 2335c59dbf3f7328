//! What the kernel of a node is told: arguments, modules and settings.

use std::collections::BTreeMap;

use super::derive::Rule;
use super::{Decided, RoutingPlan};
use crate::cluster::section::{Kernel, Rung};
use ichor_bgp::setting::Isolation;
use ichor_values::Backend;

/// Settings that a node that routes needs: it forwards, spreads flows over its paths by ports too, and accepts answers that
/// arrive by another path than the request left.
const ROUTING: [(&str, &str); 7] = [
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.fib_multipath_hash_policy", "1"),
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv6.conf.default.forwarding", "1"),
    ("net.ipv6.fib_multipath_hash_policy", "1"),
];

/// What the kernel of a node is told.
#[derive(Debug)]
pub struct KernelPlan {
    /// Arguments.
    pub args: Vec<Decided<String>>,
    /// Modules to load.
    pub(crate) modules: Vec<Decided<String>>,
    /// Settings, by key.
    pub(crate) sysctls: BTreeMap<String, Decided<String>>,
}

/// Decides what the kernel of a node is told.
pub fn plan(settings: &Rung, routing: Option<&RoutingPlan>) -> KernelPlan {
    let none = Kernel::default();
    let kernel = settings.kernel.get().unwrap_or(&none);
    let args = kernel.args.items().map(|at| Decided::written(at.value.to_string(), at.place)).collect();
    KernelPlan { args, modules: modules(kernel, routing), sysctls: sysctls(kernel, routing) }
}

/// The modules of the file, and `vrf` where a VRF is wanted: an extension cannot load it.
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
        modules.push(Decided::derived("vrf".to_owned(), Rule::NeededByRouting, Some(workload.place)));
    }
    modules
}

/// The settings that routing needs, and those of the file in their stead.
fn sysctls(kernel: &Kernel, routing: Option<&RoutingPlan>) -> BTreeMap<String, Decided<String>> {
    let needed = |value: &str| Decided::derived(value.to_owned(), Rule::NeededByRouting, None);
    let needs = routing.into_iter().flat_map(|_| ROUTING).map(|(key, value)| (key.to_owned(), needed(value)));
    let written = kernel.sysctls.entries();
    let written =
        written.map(|(key, at)| (key.to_string(), Decided::written(at.value.to_string(), at.place)));
    needs.chain(written).collect()
}
