//! Classes of nodes with the same machine settings.
//!
//! Rules about boot, links, images or patches check each class once. Nodes of a class may differ in AS number and other BGP
//! settings: see [`bgp_group`](super::bgp_group).

use super::NodePlan;
use super::interner::{Interner, value_address};
use crate::cluster::section::{Network, NodeNetwork, NodeSettings, Routing, Vm};

/// Nodes that differ only in name, number, site, addresses and AS number.
#[derive(Debug)]
pub struct NodeClass {
    /// Their numbers, in the order of the file; never empty.
    pub nodes: Vec<usize>,
}

impl NodeClass {
    /// The first of them.
    pub(crate) fn first(&self) -> usize {
        self.nodes[0]
    }
}

/// Groups nodes by class, in the order of the first node of each.
pub(crate) fn node_classes(nodes: &[NodePlan]) -> Vec<NodeClass> {
    let mut found: Vec<NodeClass> = Vec::new();
    let mut classes = Interner::default();
    for node in nodes {
        let nth = classes.number(NodeFingerprint::from_node(node));
        if nth == found.len() {
            found.push(NodeClass { nodes: Vec::new() });
        }
        found[nth].nodes.push(node.nth);
    }
    found
}

/// The machine settings that nodes of one class share.
///
/// The patterns below name every key, so that a new key does not compile before it is classified. Keys with `_` may differ
/// within a class, so a rule that checks classes must not read them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct NodeFingerprint {
    node: [usize; 8],
    settings: [usize; 14],
    network: [usize; 7],
    vm: [usize; 5],
    routing: [usize; 2],
}

impl NodeFingerprint {
    fn from_node(node: &NodePlan) -> Self {
        let set = &node.settings;
        let carrier = node.routing.as_ref().and_then(|routing| routing.carrier.as_ref());
        Self {
            node: [
                node.role as usize,
                node.platform.value as usize,
                node.arch.value as usize,
                node.ports.len(),
                usize::from(node.address.v4.is_some()),
                usize::from(set.vm.is_set()),
                carrier.map_or(usize::MAX, |carrier| carrier.value as usize),
                set.macs.items().count(),
            ],
            settings: settings(set),
            network: network(set.network.get().unwrap_or(&Network::default())),
            vm: vm(set.vm.get().unwrap_or(&Vm::default())),
            routing: routing(set.routing.get().unwrap_or(&Routing::default())),
        }
    }
}

fn settings(settings: &NodeSettings) -> [usize; 14] {
    let NodeSettings {
        platform,
        arch,
        sbc,
        talos,
        install,
        ports,
        macs: _,
        links,
        network: _,
        routing: _,
        boot,
        image,
        overlay,
        vm: _,
        power: _,
        address: _,
        extensions,
        kernel,
        labels: _,
        taints: _,
        patches,
        drain,
    } = settings;
    [
        value_address(platform),
        value_address(arch),
        value_address(sbc),
        value_address(talos),
        value_address(install),
        value_address(ports),
        value_address(links),
        value_address(boot),
        value_address(image),
        value_address(overlay),
        value_address(extensions),
        value_address(kernel),
        value_address(patches),
        value_address(drain),
    ]
}

fn network(network: &Network) -> [usize; 7] {
    let Network {
        node,
        loopback: _,
        dummy,
        api,
        services: _,
        dns: _,
        ntp: _,
        mtu,
        digits: _,
        kubelet_subnets,
        etcd_subnets,
    } = network;
    let none = NodeNetwork::default();
    let NodeNetwork { v4: _, v6: _, gateway: _, metric: _, addressing, link } = node.get().unwrap_or(&none);
    [
        value_address(addressing),
        value_address(link),
        value_address(api),
        value_address(dummy),
        value_address(mtu),
        value_address(kubelet_subnets),
        value_address(etcd_subnets),
    ]
}

fn vm(vm: &Vm) -> [usize; 5] {
    let Vm {
        hypervisor,
        host: _,
        id: _,
        first_id: _,
        cores: _,
        cpu: _,
        memory: _,
        disk: _,
        storage: _,
        bridge: _,
        vlan: _,
        machine,
        firmware,
        nic: _,
        on_boot: _,
        guest_agent: _,
        pool: _,
        tags: _,
        anti_affinity: _,
        boot,
        args,
    } = vm;
    [
        value_address(hypervisor),
        value_address(boot),
        value_address(args),
        value_address(machine),
        value_address(firmware),
    ]
}

fn routing(routing: &Routing) -> [usize; 2] {
    let Routing {
        backend: _,
        carrier: _,
        version: _,
        service: _,
        asn: _,
        router_id: _,
        advertise: _,
        aggregates: _,
        neighbors,
        policy: _,
        graceful_restart: _,
        workload,
        template: _,
        daemons: _,
        agent: _,
    } = routing;
    [value_address(neighbors), value_address(workload)]
}
