//! The builder of a topology: machines, and a cable for each session on a port.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Deviations, TopologyInputs, lan, port_of};
use crate::lab::topology::{CableEnd, LabCable, LabMachine, LabPort};
use crate::plan::cable::Cables;
use crate::plan::{ConfigStage, NodePlan};
use crate::routing::BgpTopology;
use crate::routing::network::{BgpSession, TopologyEnd};
use ichor_bgp::model::fabric::PeerAddress;

/// Machines, and the cables between them.
#[derive(Default)]
pub(super) struct TopologyBuilder {
    pub machines: Vec<LabMachine>,
    pub cables: Vec<LabCable>,
    /// The kernel's names of the nodes' links, by the node's name and that of the plan.
    links: BTreeMap<(String, String), String>,
    /// The address that a node has instead of a DHCP lease, by its name and the router's address.
    pub assigned: BTreeMap<(String, IpAddr), IpAddr>,
}

impl TopologyBuilder {
    /// Adds the cables of all sessions. Routers are the first machines, then nodes, both in the order of the network.
    pub(crate) fn connect_sessions(
        &mut self,
        inputs: TopologyInputs<'_>,
        network: &BgpTopology,
        deviations: &mut Deviations,
    ) {
        let cables = Cables::from_cluster(inputs.cluster);
        if inputs.guests {
            // A virtual machine needs all its ports, because the kernel numbers them.
            for (nth, model) in network.nodes.iter().enumerate() {
                let plan = &inputs.plan.nodes[model.nth];
                for port in &plan.ports {
                    self.add_node_port(plan, network.routers.len() + nth, port.name.as_str());
                }
            }
        }
        for BgpSession(one, other) in &network.sessions {
            let Some(far) = port_of(&network.at(*other).found) else { continue };
            let far = (machine_of(network, *other), router_port(far, network, *other));
            let ends = match *one {
                TopologyEnd::Node(node, _) => self.node_ends(inputs, network, &cables, node, *one, far),
                TopologyEnd::Router(..) => {
                    let name = port_of(&network.at(*one).found).unwrap_or_default();
                    let near = self.add_port(machine_of(network, *one), router_port(name, network, *one));
                    Some((name.to_owned(), [near, self.add_port(far.0, far.1)]))
                }
            };
            if let Some((name, ends)) = ends {
                self.connect(format!("{}:{name}", network.name(*one)), &ends);
            }
        }
        lan::add_lans(inputs, network, self, deviations);
    }

    /// Both ends of the cable of a node's session on a port, with the port's name. It leads to `far` unless the file has a
    /// cable to another router.
    fn node_ends(
        &mut self,
        inputs: TopologyInputs<'_>,
        network: &BgpTopology,
        cables: &Cables<'_>,
        node: usize,
        end: TopologyEnd,
        far: (usize, LabPort),
    ) -> Option<(String, [CableEnd; 2])> {
        let model = &network.nodes[node];
        let plan = &inputs.plan.nodes[model.nth];
        let name = port_of(&network.at(end).found)?;
        let near = self.add_node_port(plan, network.routers.len() + node, name)?;
        let elsewhere = cables.nodes.get(&(plan.nth, name)).and_then(|(router, port)| {
            let nth = network.routers.iter().position(|known| known.name == *router)?;
            Some((nth, unconfigured_port(port, network.routers[nth].vrf.clone())))
        });
        let (machine, port) = elsewhere.unwrap_or(far);
        Some((name.to_owned(), [near, self.add_port(machine, port)]))
    }

    /// Adds a port of a node by its name in the plan, unless the node has no such link.
    pub(crate) fn add_node_port(&mut self, plan: &NodePlan, machine: usize, name: &str) -> Option<CableEnd> {
        let links = plan.links(ConfigStage::Final);
        let known = plan.ports.iter().position(|port| port.name.as_str() == name);
        let link = links.iter().find(|link| link.name.as_str() == name);
        if known.is_none() && link.is_none() {
            return None;
        }
        let mac = known.and_then(|nth| plan.ports[nth].mac.as_ref()).map(|mac| mac.value);
        // The agent identifies a port by its MAC address, as on a machine whose ports the kernel names.
        let kernel = match (known, mac) {
            (Some(nth), Some(_)) => format!("eth{nth}"),
            _ => name.to_owned(),
        };
        self.links.insert((plan.name.to_string(), name.to_owned()), kernel.clone());
        let alias = (kernel != name).then(|| name.to_owned());
        let mtu = link.and_then(|link| link.mtu).map(|mtu| mtu.0);
        Some(self.add_port(machine, LabPort { alias, mac, mtu, ..unconfigured_port(&kernel, None) }))
    }

    /// Adds a port to a machine, unless it has one of this name.
    pub fn add_port(&mut self, machine: usize, port: LabPort) -> CableEnd {
        let ports = &mut self.machines[machine].ports;
        let nth = ports.iter().position(|known| known.name == port.name).unwrap_or_else(|| {
            ports.push(port);
            ports.len() - 1
        });
        CableEnd { machine, port: nth }
    }

    /// Connects ports by a new cable, or by an existing one that has some of them.
    pub(crate) fn connect(&mut self, name: String, ends: &[CableEnd]) {
        let known = self.cables.iter().position(|cable| cable.ends.iter().any(|end| ends.contains(end)));
        let nth = known.unwrap_or_else(|| {
            self.cables.push(LabCable { name, ends: Vec::new() });
            self.cables.len() - 1
        });
        for end in ends {
            let elsewhere = self.cables.iter().any(|cable| cable.ends.contains(end));
            if !elsewhere {
                self.cables[nth].ends.push(*end);
            }
        }
    }

    /// A name that no machine has.
    pub(crate) fn unused_name(&self, name: &str) -> String {
        let taken = |name: &str| self.machines.iter().any(|machine| machine.name == name);
        let numbered = (2..).map(|number| format!("{name}{number}"));
        std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|name| !taken(name))
            .expect("numbers do not end")
    }

    /// The neighbour's name in the daemon at an end.
    pub fn peer_name(&self, network: &BgpTopology, end: TopologyEnd) -> String {
        let name = network.name(end).to_owned();
        match &network.at(end).found {
            PeerAddress::Port { name: port, .. } => {
                self.links.get(&(name, port.to_string())).cloned().unwrap_or_else(|| port.to_string())
            }
            PeerAddress::Address { address, source } => {
                // For a node with an unknown address, a router knows only the address that it connects to.
                let node = network.sessions.iter().find(|BgpSession(_, other)| *other == end).map(|it| it.0);
                let assigned =
                    node.and_then(|node| self.assigned.get(&(network.name(node).to_owned(), *address)));
                assigned.filter(|_| *source == Some(*address)).unwrap_or(address).to_string()
            }
        }
    }
}

/// The number of the machine at an end.
fn machine_of(network: &BgpTopology, end: TopologyEnd) -> usize {
    match end {
        TopologyEnd::Router(router, _) => router,
        TopologyEnd::Node(node, _) => network.routers.len() + node,
    }
}

/// The port of a router.
fn router_port(name: &str, network: &BgpTopology, end: TopologyEnd) -> LabPort {
    let vrf = match end {
        TopologyEnd::Router(router, _) => network.routers[router].vrf.clone(),
        TopologyEnd::Node(..) => None,
    };
    unconfigured_port(name, vrf)
}

/// A port without settings.
pub(super) fn unconfigured_port(name: &str, vrf: Option<String>) -> LabPort {
    LabPort { name: name.to_owned(), alias: None, mac: None, mtu: None, vrf, addresses: Vec::new() }
}
