//! Kinds of nodes: what is true of one machine is true of all of its kind.
//!
//! Whoever looks at boot, links, images or patches looks once at each kind. Its AS number and the rest of its BGP may
//! still be a node's own: see [`route`](super::route).

use super::NodePlan;
use super::alike::{Alike, id};
use crate::cluster::section::{Network, NodeNetwork, Routing, Vm};

/// Nodes that differ in nothing but name, number, site, addresses and AS number.
#[derive(Debug)]
pub struct Kind {
    /// Their numbers, in the order of the file; never empty.
    pub nodes: Vec<usize>,
}

impl Kind {
    /// The first of them.
    pub fn first(&self) -> usize {
        self.nodes[0]
    }
}

/// Sorts nodes by kind, in the order in which the first of each stands in the file.
pub fn kinds(nodes: &[NodePlan]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    let mut alike = Alike::default();
    for node in nodes {
        let kind = alike.number(mark(node));
        if kind == kinds.len() {
            kinds.push(Kind { nodes: Vec::new() });
        }
        kinds[kind].nodes.push(node.nth);
    }
    kinds
}

/// All that makes a machine.
fn mark(node: &NodePlan) -> [usize; 36] {
    let set = &node.settings;
    let network = |pick: fn(&Network) -> usize| set.network.get().map_or(0, pick);
    let own = |pick: fn(&NodeNetwork) -> usize| {
        set.network.get().and_then(|network| network.node.get()).map_or(0, pick)
    };
    let vm = |pick: fn(&Vm) -> usize| set.vm.get().map_or(0, pick);
    let routing = |pick: fn(&Routing) -> usize| set.routing.get().map_or(0, pick);
    let carrier = node.routing.as_ref().and_then(|routing| routing.carrier.as_ref());
    [
        node.role as usize,
        node.platform.value as usize,
        node.arch.value as usize,
        node.ports.len(),
        usize::from(node.address.v4.is_some()),
        usize::from(set.vm.is_set()),
        carrier.map_or(usize::MAX, |carrier| carrier.value as usize),
        set.macs.items().count(),
        id(&set.platform),
        id(&set.arch),
        id(&set.sbc),
        id(&set.talos),
        id(&set.install),
        id(&set.ports),
        id(&set.links),
        id(&set.boot),
        id(&set.image),
        id(&set.overlay),
        id(&set.extensions),
        id(&set.kernel),
        id(&set.patches),
        id(&set.drain),
        own(|node| id(&node.addressing)),
        own(|node| id(&node.link)),
        network(|network| id(&network.api)),
        network(|network| id(&network.dummy)),
        network(|network| id(&network.mtu)),
        network(|network| id(&network.kubelet_subnets)),
        network(|network| id(&network.etcd_subnets)),
        vm(|vm| id(&vm.hypervisor)),
        vm(|vm| id(&vm.boot)),
        vm(|vm| id(&vm.args)),
        vm(|vm| id(&vm.machine)),
        vm(|vm| id(&vm.firmware)),
        routing(|routing| id(&routing.neighbors)),
        routing(|routing| id(&routing.workload)),
    ]
}
