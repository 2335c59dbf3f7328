//! Kinds of nodes: what is true of one machine is true of all of its kind.
//!
//! Whoever looks at boot, links, images or patches looks once at each kind. Its AS number and the rest of its BGP may
//! still be a node's own: see [`route`](super::route).

use super::NodePlan;
use super::alike::{Classes, address};
use crate::cluster::section::{Network, NodeNetwork, Routing, Rung, Vm};

/// Nodes that differ in nothing but name, number, site, addresses and AS number.
#[derive(Debug)]
pub struct Kind {
    /// Their numbers, in the order of the file; never empty.
    pub nodes: Vec<usize>,
}

impl Kind {
    /// The first of them.
    pub(crate) fn first(&self) -> usize {
        self.nodes[0]
    }
}

/// Sorts nodes by kind, in the order in which the first of each stands in the file.
pub(crate) fn kinds(nodes: &[NodePlan]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    let mut classes = Classes::default();
    for node in nodes {
        let kind = classes.number(KindClass::of(node));
        if kind == kinds.len() {
            kinds.push(Kind { nodes: Vec::new() });
        }
        kinds[kind].nodes.push(node.nth);
    }
    kinds
}

/// What nodes of one kind have in common: all that makes a machine.
///
/// The patterns below name every key there is: a new one does not compile before it is decided whether it makes a machine.
/// What is passed over with `_` may differ within a kind, so a rule that looks at kinds must not read it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct KindClass {
    node: [usize; 8],
    rung: [usize; 14],
    network: [usize; 7],
    vm: [usize; 5],
    routing: [usize; 2],
}

impl KindClass {
    fn of(node: &NodePlan) -> Self {
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
            rung: rung(set),
            network: network(set.network.get().unwrap_or(&Network::default())),
            vm: vm(set.vm.get().unwrap_or(&Vm::default())),
            routing: routing(set.routing.get().unwrap_or(&Routing::default())),
        }
    }
}

fn rung(rung: &Rung) -> [usize; 14] {
    let Rung {
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
    } = rung;
    [
        address(platform),
        address(arch),
        address(sbc),
        address(talos),
        address(install),
        address(ports),
        address(links),
        address(boot),
        address(image),
        address(overlay),
        address(extensions),
        address(kernel),
        address(patches),
        address(drain),
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
        address(addressing),
        address(link),
        address(api),
        address(dummy),
        address(mtu),
        address(kubelet_subnets),
        address(etcd_subnets),
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
    [address(hypervisor), address(boot), address(args), address(machine), address(firmware)]
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
    [address(neighbors), address(workload)]
}
