//! The talosconfig with which the administrator reaches a cluster.

use std::net::IpAddr;

use ichor_core::plan::NodePlan;
use ichor_core::talos::secrets::{Bundle, Pair};
use ichor_core::talos::talosconfig::talosconfig;

use crate::project::Project;

/// The talosconfig of a cluster.
pub(in crate::commands) fn client(project: &Project, bundle: &Bundle, admin: &Pair) -> String {
    let plan = &project.plan;
    let addresses = |nodes: &mut dyn Iterator<Item = &NodePlan>| -> Vec<String> {
        nodes.filter_map(reached_at).map(|address| address.to_string()).collect()
    };
    let endpoints = match &plan.cluster.talos_endpoints.value {
        none if none.is_empty() => addresses(&mut plan.control_planes()),
        endpoints => endpoints.clone(),
    };
    let nodes = addresses(&mut plan.nodes.iter());
    talosconfig(plan.cluster.name.as_str(), &endpoints, &nodes, &bundle.os.crt, admin)
}

/// Where a node is reached once it runs: at its own address, at its loopback if that is announced, or as the file says.
fn reached_at(node: &NodePlan) -> Option<IpAddr> {
    let own = node.address.iter().next().map(|(net, _)| net.addr());
    own.or_else(|| node.routing.is_some().then(|| node.main_address()).flatten())
        .or_else(|| node.stages.overlay())
        .or_else(|| node.stages.external())
        .or_else(|| node.stages.dhcp())
}
