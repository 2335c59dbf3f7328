//! Networks: one for all nodes and routers that find each other by addresses.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::bench::{TopologyBuilder, named};
use super::router::around;
use super::{Deviations, TopologyInputs, port_of};
use crate::cluster::section::Addressing;
use crate::lab::scene::{CableEnd, LabPort};
use crate::plan::link::{LinkKind, LinkPlan};
use crate::plan::{ConfigStage, NodePlan};
use crate::routing::BgpTopology;
use crate::routing::network::{BgpSession, TopologyEnd};
use ichor_bgp::model::BgpModel;
use ichor_bgp::model::fabric::PeerAddress;

/// The port of a router on a network with nodes.
const LAN: &str = "lan0";

/// Lays every network.
pub(super) fn lay_all(
    order: TopologyInputs<'_>,
    network: &BgpTopology,
    bench: &mut TopologyBuilder,
    differs: &mut Deviations,
) {
    for (nth, group) in groups(network).iter().enumerate() {
        let name = if nth == 0 { "nodes".to_owned() } else { format!("nodes{}", nth + 1) };
        LanBuilder { order, network, bench: &mut *bench, group, differs: &mut *differs }.lay(name);
    }
}

/// Nodes and routers that find each other by addresses, as they hang together.
#[derive(Default)]
struct LanMembers {
    nodes: BTreeSet<usize>,
    routers: BTreeSet<usize>,
}

fn groups(network: &BgpTopology) -> Vec<LanMembers> {
    let mut groups: Vec<LanMembers> = Vec::new();
    for BgpSession(one, other) in &network.sessions {
        let (TopologyEnd::Node(node, nth), TopologyEnd::Router(router, _)) = (*one, *other) else { continue };
        if port_of(&network.nodes[node].fabric.neighbors[nth].found).is_some() {
            continue;
        }
        let mut joined = LanMembers { nodes: [node].into(), routers: [router].into() };
        groups.retain_mut(|group| {
            let meets = group.nodes.contains(&node) || group.routers.contains(&router);
            if meets {
                joined.nodes.append(&mut group.nodes);
                joined.routers.append(&mut group.routers);
            }
            !meets
        });
        groups.push(joined);
    }
    groups.sort_by_key(|group| group.nodes.first().copied());
    groups
}

/// A network with nodes and routers on it.
struct LanBuilder<'l> {
    order: TopologyInputs<'l>,
    network: &'l BgpTopology,
    bench: &'l mut TopologyBuilder,
    group: &'l LanMembers,
    differs: &'l mut Deviations,
}

impl LanBuilder<'_> {
    fn lay(&mut self, name: String) {
        let mut held = BTreeSet::new();
        let mut plugs = Vec::new();
        for router in self.group.routers.clone() {
            let plug = self.router(router, &mut held);
            plugs.push(plug);
        }
        let mut gateways = BTreeSet::new();
        for node in self.group.nodes.clone() {
            plugs.extend(self.node(node, &mut held, &mut gateways));
        }
        self.answer(&gateways, &plugs);
        self.bench.plug(name, &plugs);
    }

    /// A router with every address that nodes dial.
    fn router(&mut self, nth: usize, held: &mut BTreeSet<IpAddr>) -> CableEnd {
        let router = &self.network.routers[nth];
        let dialled = router.peers.iter().filter_map(|peer| match peer.session.found {
            PeerAddress::Address { source, .. } => source,
            PeerAddress::Port { .. } => None,
        });
        let addresses: BTreeSet<IpAddr> = router.addresses.iter().copied().chain(dialled).collect();
        held.extend(&addresses);
        let nets = addresses.iter().map(|address| around(self.order, IpNet::from(*address))).collect();
        let port = LabPort { addresses: nets, ..named(LAN, router.vrf.clone()) };
        self.bench.port(nth, port)
    }

    fn node(
        &mut self,
        nth: usize,
        held: &mut BTreeSet<IpAddr>,
        gateways: &mut BTreeSet<IpNet>,
    ) -> Option<CableEnd> {
        let model = &self.network.nodes[nth];
        let plan = &self.order.plan.nodes[model.nth];
        let machine = self.network.routers.len() + nth;
        let plug = self.bench.node_port(plan, machine, plan.link.value.as_str())?;
        let links = plan.links(ConfigStage::Final);
        let link = links.iter().find(|link| link.name == plan.link.value);
        if link.is_some_and(|link| !matches!(link.kind, LinkKind::Port { .. })) {
            self.differs.add(format!("{} is a port here, and nothing more", plan.link.value));
        }
        let nets = if plan.addressing.value == Addressing::Static {
            plan.address.iter().map(|(net, _)| net).collect()
        } else {
            self.give(model, plan, held)
        };
        gateways.extend(self.ways(machine, &nets, link));
        self.bench.machines[machine].ports[plug.port].addresses = nets;
        Some(plug)
    }

    /// The gateways of a node, with the length of its network.
    fn ways(&mut self, machine: usize, nets: &[IpNet], link: Option<&LinkPlan>) -> Vec<IpNet> {
        let routes = link.into_iter().flat_map(|link| &link.routes);
        let vias = routes
            .filter(|route| route.to.is_none_or(|to| to.prefix_len() == 0))
            .filter_map(|route| route.via);
        let mut ways = Vec::new();
        for via in vias {
            if let Some(net) = nets.iter().find(|net| net.contains(&via)) {
                self.bench.machines[machine].gateways.push(via);
                ways.push(IpNet::new(via, net.prefix_len()).expect("the length of its network"));
            }
        }
        ways
    }

    /// Gives a node what a DHCP server would: a free address of the network of each router it dials.
    fn give(&mut self, model: &BgpModel, plan: &NodePlan, held: &mut BTreeSet<IpAddr>) -> Vec<IpNet> {
        let mut nets: Vec<IpNet> = Vec::new();
        for neighbor in &model.fabric.neighbors {
            let PeerAddress::Address { address, .. } = neighbor.found else { continue };
            let known = nets.iter().find(|net| net.contains(&address)).copied();
            let net = known.or_else(|| {
                let around = around(self.order, IpNet::from(address));
                let free = around.hosts().skip(10).find(|host| !held.contains(host))?;
                held.insert(free);
                IpNet::new(free, around.prefix_len()).ok()
            });
            let Some(net) = net else { continue };
            self.bench.given.insert((plan.name.to_string(), address), net.addr());
            if known.is_none() {
                nets.push(net);
            }
        }
        self.differs.add("nodes have addresses here that no DHCP server gave them");
        nets
    }

    /// Gives gateways that no router has to one that has another, or to the first.
    fn answer(&mut self, gateways: &BTreeSet<IpNet>, plugs: &[CableEnd]) {
        let routers: Vec<CableEnd> = plugs.iter().take(self.group.routers.len()).copied().collect();
        let has = |bench: &TopologyBuilder, plug: &CableEnd, gateway: &IpNet| {
            let port = &bench.machines[plug.machine].ports[plug.port];
            port.addresses.iter().any(|net| net.addr() == gateway.addr())
        };
        let anyone = |gateway: &IpNet| routers.iter().find(|plug| has(self.bench, plug, gateway)).copied();
        let missing: Vec<IpNet> =
            gateways.iter().filter(|gateway| anyone(gateway).is_none()).copied().collect();
        let Some(chosen) = gateways.iter().find_map(anyone).or(routers.first().copied()) else { return };
        for gateway in missing {
            let machine = &mut self.bench.machines[chosen.machine];
            machine.ports[chosen.port].addresses.push(gateway);
            self.differs.add(format!("{} is the gateway {} too", machine.name, gateway.addr()));
        }
    }
}
