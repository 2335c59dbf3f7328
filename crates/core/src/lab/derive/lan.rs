//! LANs: one for each group of nodes and routers with sessions between addresses.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::builder::{TopologyBuilder, unconfigured_port};
use super::router::with_prefix_length;
use super::{Deviations, TopologyInputs, port_of};
use crate::cluster::section::Addressing;
use crate::lab::topology::{CableEnd, LabPort};
use crate::plan::link::{LinkKind, LinkPlan};
use crate::plan::{ConfigStage, NodePlan};
use crate::routing::BgpTopology;
use crate::routing::network::{BgpSession, TopologyEnd};
use ichor_bgp::model::BgpModel;
use ichor_bgp::model::fabric::PeerAddress;

/// The port of a router on a LAN with nodes.
const LAN: &str = "lan0";

/// Adds every LAN.
pub(super) fn add_lans(
    inputs: TopologyInputs<'_>,
    network: &BgpTopology,
    builder: &mut TopologyBuilder,
    deviations: &mut Deviations,
) {
    for (nth, group) in find_groups(network).iter().enumerate() {
        let name = if nth == 0 { "nodes".to_owned() } else { format!("nodes{}", nth + 1) };
        LanBuilder { inputs, network, builder: &mut *builder, group, deviations: &mut *deviations }
            .build(name);
    }
}

/// Nodes and routers connected by sessions between addresses.
#[derive(Default)]
struct LanMembers {
    nodes: BTreeSet<usize>,
    routers: BTreeSet<usize>,
}

fn find_groups(network: &BgpTopology) -> Vec<LanMembers> {
    let mut groups: Vec<LanMembers> = Vec::new();
    for BgpSession(one, other) in &network.sessions {
        let (TopologyEnd::Node(node, nth), TopologyEnd::Router(router, _)) = (*one, *other) else { continue };
        if port_of(&network.nodes[node].fabric.neighbors[nth].found).is_some() {
            continue;
        }
        let mut joined = LanMembers { nodes: [node].into(), routers: [router].into() };
        groups.retain_mut(|group| {
            let is_connected = group.nodes.contains(&node) || group.routers.contains(&router);
            if is_connected {
                joined.nodes.append(&mut group.nodes);
                joined.routers.append(&mut group.routers);
            }
            !is_connected
        });
        groups.push(joined);
    }
    groups.sort_by_key(|group| group.nodes.first().copied());
    groups
}

/// Adds one LAN with its nodes and routers.
struct LanBuilder<'l> {
    inputs: TopologyInputs<'l>,
    network: &'l BgpTopology,
    builder: &'l mut TopologyBuilder,
    group: &'l LanMembers,
    deviations: &'l mut Deviations,
}

impl LanBuilder<'_> {
    fn build(&mut self, name: String) {
        let mut taken = BTreeSet::new();
        let mut ends = Vec::new();
        for router in self.group.routers.clone() {
            let end = self.add_router(router, &mut taken);
            ends.push(end);
        }
        let mut gateways = BTreeSet::new();
        for node in self.group.nodes.clone() {
            ends.extend(self.add_node(node, &mut taken, &mut gateways));
        }
        self.assign_gateways(&gateways, &ends);
        self.builder.connect(name, &ends);
    }

    /// Adds a router with every address that nodes connect to.
    fn add_router(&mut self, nth: usize, taken: &mut BTreeSet<IpAddr>) -> CableEnd {
        let router = &self.network.routers[nth];
        let contacted = router.peers.iter().filter_map(|peer| match peer.session.found {
            PeerAddress::Address { source, .. } => source,
            PeerAddress::Port { .. } => None,
        });
        let addresses: BTreeSet<IpAddr> = router.addresses.iter().copied().chain(contacted).collect();
        taken.extend(&addresses);
        let nets =
            addresses.iter().map(|address| with_prefix_length(self.inputs, IpNet::from(*address))).collect();
        let port = LabPort { addresses: nets, ..unconfigured_port(LAN, router.vrf.clone()) };
        self.builder.add_port(nth, port)
    }

    fn add_node(
        &mut self,
        nth: usize,
        taken: &mut BTreeSet<IpAddr>,
        gateways: &mut BTreeSet<IpNet>,
    ) -> Option<CableEnd> {
        let model = &self.network.nodes[nth];
        let plan = &self.inputs.plan.nodes[model.nth];
        let machine = self.network.routers.len() + nth;
        let end = self.builder.add_node_port(plan, machine, plan.link.value.as_str())?;
        let links = plan.links(ConfigStage::Final);
        let link = links.iter().find(|link| link.name == plan.link.value);
        if link.is_some_and(|link| !matches!(link.kind, LinkKind::Port { .. })) {
            self.deviations.add(format!("{} is a plain port in the lab", plan.link.value));
        }
        let nets = if plan.addressing.value == Addressing::Static {
            plan.address.iter().map(|(net, _)| net).collect()
        } else {
            self.assign_addresses(model, plan, taken)
        };
        gateways.extend(self.add_gateways(machine, &nets, link));
        self.builder.machines[machine].ports[end.port].addresses = nets;
        Some(end)
    }

    /// Adds the gateways of a node and returns them with the prefix length of its network.
    fn add_gateways(&mut self, machine: usize, nets: &[IpNet], link: Option<&LinkPlan>) -> Vec<IpNet> {
        let routes = link.into_iter().flat_map(|link| &link.routes);
        let vias = routes
            .filter(|route| route.to.is_none_or(|to| to.prefix_len() == 0))
            .filter_map(|route| route.via);
        let mut gateways = Vec::new();
        for via in vias {
            if let Some(net) = nets.iter().find(|net| net.contains(&via)) {
                self.builder.machines[machine].gateways.push(via);
                gateways.push(IpNet::new(via, net.prefix_len()).expect("the length of its network"));
            }
        }
        gateways
    }

    /// Assigns a node an unused address in the network of each router it connects to, instead of DHCP.
    fn assign_addresses(
        &mut self,
        model: &BgpModel,
        plan: &NodePlan,
        taken: &mut BTreeSet<IpAddr>,
    ) -> Vec<IpNet> {
        let mut nets: Vec<IpNet> = Vec::new();
        for neighbor in &model.fabric.neighbors {
            let PeerAddress::Address { address, .. } = neighbor.found else { continue };
            let known = nets.iter().find(|net| net.contains(&address)).copied();
            let net = known.or_else(|| {
                let network = with_prefix_length(self.inputs, IpNet::from(address));
                let free = network.hosts().skip(10).find(|host| !taken.contains(host))?;
                taken.insert(free);
                IpNet::new(free, network.prefix_len()).ok()
            });
            let Some(net) = net else { continue };
            self.builder.assigned.insert((plan.name.to_string(), address), net.addr());
            if known.is_none() {
                nets.push(net);
            }
        }
        self.deviations.add("the lab has no DHCP server: nodes have static addresses");
        nets
    }

    /// Assigns gateway addresses that no router has to a router with another gateway address, or to the first router.
    fn assign_gateways(&mut self, gateways: &BTreeSet<IpNet>, ends: &[CableEnd]) {
        let routers: Vec<CableEnd> = ends.iter().take(self.group.routers.len()).copied().collect();
        let has = |builder: &TopologyBuilder, end: &CableEnd, gateway: &IpNet| {
            let port = &builder.machines[end.machine].ports[end.port];
            port.addresses.iter().any(|net| net.addr() == gateway.addr())
        };
        let owner = |gateway: &IpNet| routers.iter().find(|end| has(self.builder, end, gateway)).copied();
        let missing: Vec<IpNet> =
            gateways.iter().filter(|gateway| owner(gateway).is_none()).copied().collect();
        let Some(chosen) = gateways.iter().find_map(owner).or(routers.first().copied()) else { return };
        for gateway in missing {
            let machine = &mut self.builder.machines[chosen.machine];
            machine.ports[chosen.port].addresses.push(gateway);
            self.deviations.add(format!("{} also has the gateway address {}", machine.name, gateway.addr()));
        }
    }
}
