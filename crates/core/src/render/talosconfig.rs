//! The talosconfig for administrators of a cluster.

use std::net::IpAddr;

use crate::plan::{NodePlan, Plan};
use ichor_talos::secrets::{Bundle, Pair};
use ichor_talos::talosconfig;

/// The talosconfig of a cluster. Its endpoints are those of the file, else the control planes.
pub fn talosconfig(plan: &Plan, bundle: &Bundle, admin: &Pair) -> String {
    let addresses = |nodes: &mut dyn Iterator<Item = &NodePlan>| -> Vec<String> {
        nodes.filter_map(client_address).map(|address| address.to_string()).collect()
    };
    let endpoints = match &plan.cluster.talos_endpoints.value {
        none if none.is_empty() => addresses(&mut plan.control_planes()),
        endpoints => endpoints.clone(),
    };
    let nodes = addresses(&mut plan.nodes.iter());
    talosconfig::talosconfig(plan.cluster.name.as_str(), &endpoints, &nodes, &bundle.os.crt, admin)
}

/// The address of a running node for clients: its own, its announced loopback address, or one in the file.
fn client_address(node: &NodePlan) -> Option<IpAddr> {
    let own = node.address.iter().next().map(|(net, _)| net.addr());
    own.or_else(|| node.routing.is_some().then(|| node.main_address()).flatten())
        .or_else(|| node.stages.overlay())
        .or_else(|| node.stages.external())
        .or_else(|| node.stages.dhcp())
}
