//! The links of a node with their addresses and routes.
//!
//! [`NodePlan::links`] combines several keys of the file: ports, `links`, the node's address and gateways, its loopback,
//! dummies, anycast and VIP. Renderers of a node's network start from this list.
//!
//! Not here: the link to a speaker of service addresses ([`WorkloadPlan`](super::WorkloadPlan)).

use std::net::IpAddr;

use ipnet::IpNet;
use sha2::{Digest, Sha256};

use super::virtual_link::{self, BondPlan};
use super::{NeighborAddress, NodePlan, port_name};
use crate::cluster::section::{Addressing, BondHash, BondMode, Link};
use ichor_values::{LinkName, Mac, Mtu, VlanId};

/// Default metric of routes.
pub(crate) const METRIC: u32 = 1024;

/// Maximum length of a link name.
const LONGEST_NAME: usize = 15;

/// Maximum depth of nested VLANs; deeper nesting is a cycle.
pub(super) const DEEPEST: usize = 4;

/// Stage of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigStage {
    /// Before the installation: what the machine needs to be reachable.
    Boot,
    /// The final configuration.
    Final,
}

/// A link of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPlan {
    /// Its name.
    pub name: LinkName,
    /// Kind.
    pub kind: LinkKind,
    /// Its MTU, if one is written.
    pub mtu: Option<Mtu>,
    /// Whether it uses DHCP.
    pub dhcp: bool,
    /// Its addresses with their prefix length.
    pub addresses: Vec<IpNet>,
    /// Its routes.
    pub routes: Vec<RoutePlan>,
    /// The VIP, if this link may have it.
    pub vip: Option<IpAddr>,
    /// The bond or bridge it belongs to.
    pub master: Option<Master>,
}

impl LinkPlan {
    /// Whether DHCP is its only setting.
    pub(crate) fn is_bare(&self) -> bool {
        self.mtu.is_none() && self.addresses.is_empty() && self.routes.is_empty()
    }
}

/// Kind of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// `lo`.
    Loopback,
    /// A port.
    Port {
        /// Its MAC address, if known.
        mac: Option<Mac>,
        /// Whether it is matched by MAC address, because the kernel gives it another name.
        by_mac: bool,
    },
    /// A bond.
    Bond {
        /// Its members, in order.
        links: Vec<LinkName>,
        /// Bonding mode.
        mode: BondMode,
        /// Interval of link monitoring in milliseconds.
        miimon: u32,
        /// Transmit hash policy.
        hash: BondHash,
    },
    /// A VLAN.
    Vlan {
        /// VLAN ID.
        id: VlanId,
        /// Parent link.
        link: LinkName,
    },
    /// A bridge.
    Bridge {
        /// Its members.
        links: Vec<LinkName>,
        /// Whether it uses the spanning tree protocol.
        stp: bool,
    },
    /// A dummy link for addresses.
    Dummy,
}

impl LinkKind {
    /// The MAC address that a port is matched by.
    pub(crate) fn matched_mac(&self) -> Option<Mac> {
        match self {
            LinkKind::Port { mac, by_mac: true } => *mac,
            _ => None,
        }
    }
}

/// The bond or bridge a link belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Master {
    /// A bond, and the position among its members.
    Bond(LinkName, usize),
    /// A bridge.
    Bridge(LinkName),
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutePlan {
    /// Destination; none for a default route.
    pub to: Option<IpNet>,
    /// Next hop; none for an on-link destination.
    pub via: Option<IpAddr>,
    /// Its metric.
    pub metric: u32,
}

impl RoutePlan {
    /// An address of the route's family; none for an empty route.
    pub fn family(&self) -> Option<IpAddr> {
        self.via.or(self.to.map(|to| to.addr()))
    }
}

impl NodePlan {
    /// The links of the node: loopback, ports, bonds, VLANs, bridges, dummies.
    pub fn links(&self, stage: ConfigStage) -> Vec<LinkPlan> {
        let mut builder = LinkBuilder { node: self, stage, links: Vec::new() };
        builder.add_loopback();
        builder.add_ports();
        builder.add_virtual_links();
        builder.add_dummies();
        builder.add_addresses();
        builder.add_vip();
        builder.drop_unused_loopback();
        builder.links
    }
}

/// Builds the list of links.
struct LinkBuilder<'n> {
    node: &'n NodePlan,
    stage: ConfigStage,
    links: Vec<LinkPlan>,
}

impl<'n> LinkBuilder<'n> {
    fn configured_links(&self) -> impl Iterator<Item = (&'n LinkName, &'n Link)> + use<'n> {
        self.node.settings.links.values().filter_map(|link| Some((link.name.get()?, link)))
    }

    fn configured_link(&self, name: &LinkName) -> Option<&'n Link> {
        self.configured_links().find(|(own, _)| *own == name).map(|(_, link)| link)
    }

    /// The name of a link on the machine: Talos 1.11 names VLANs after their parent link.
    fn kernel_name(&self, name: &LinkName) -> LinkName {
        if self.node.old_links { self.kernel_name_within(name, DEEPEST) } else { name.clone() }
    }

    fn kernel_name_within(&self, name: &LinkName, depth: usize) -> LinkName {
        let vlan = self.configured_link(name).and_then(|link| link.vlan.get());
        match vlan.and_then(|vlan| Some((vlan.link.get()?, vlan.id.value()?))) {
            Some((below, id)) if depth > 0 => vlan_name(&self.kernel_name_within(below, depth - 1), id),
            _ => name.clone(),
        }
    }

    fn find(&mut self, name: &LinkName) -> Option<&mut LinkPlan> {
        self.links.iter_mut().find(|link| link.name == *name)
    }

    fn add_loopback(&mut self) {
        let name = LinkName::parse("lo").expect("a link name");
        let link = self.configured_link(&name);
        self.push(name, LinkKind::Loopback, link);
        let lo = &mut self.links[0];
        lo.addresses.splice(0..0, self.node.loopback.iter().map(|(address, _)| address));
    }

    /// Adds the ports of the node, then other ports in the file: a machine may have more than `ports` lists.
    fn add_ports(&mut self) {
        for port in &self.node.ports {
            let mac = port.mac.as_ref().map(|mac| mac.value);
            self.add_port(&port.name, mac);
        }
        let dummies: Vec<_> = self.node.dummies.iter().map(|dummy| &dummy.name).collect();
        for (name, link) in self.configured_links() {
            let below = link.vlan.get().and_then(|vlan| vlan.link.get());
            let kernels =
                |name: &&LinkName| port_name::is_plain(name.as_str()) || name.as_str().starts_with("en");
            if let Some(below) = below.filter(kernels) {
                self.add_port(below, None);
            }
            if !is_virtual(link) && !dummies.contains(&name) {
                self.add_port(name, None);
            }
        }
        let vip = self.node.vip.as_ref().filter(|_| self.stage == ConfigStage::Final).map(|vip| &vip.link);
        let vip = vip.filter(|name| !name.as_str().starts_with("dummy"));
        for name in [Some(&self.node.link.value), vip].into_iter().flatten() {
            if !self.configured_link(name).is_some_and(is_virtual) && !dummies.contains(&name) {
                self.add_port(name, None);
            }
        }
        self.links.retain(|link| !is_placeholder(self.node, link));
    }

    fn add_port(&mut self, name: &LinkName, mac: Option<Mac>) {
        if self.find(name).is_none() {
            let by_mac = mac.is_some() && !self.node.is_kernels_port_name(name.as_str());
            self.push(name.clone(), LinkKind::Port { mac, by_mac }, self.configured_link(name));
        }
    }

    /// Adds bonds, then VLANs, then bridges.
    fn add_virtual_links(&mut self) {
        let passes: [fn(&Self, &Link) -> Option<LinkKind>; 3] = [Self::bond, Self::vlan, Self::bridge];
        for kind_of in passes {
            for (name, link) in self.configured_links() {
                if let Some(kind) = kind_of(self, link) {
                    self.push(self.kernel_name(name), kind, Some(link));
                }
            }
        }
    }

    fn bond(&self, link: &Link) -> Option<LinkKind> {
        let (BondPlan { mode, miimon, hash }, links) = BondPlan::from_section(link.bond.get()?);
        let links = links.map(|name| self.kernel_name(name)).collect();
        Some(LinkKind::Bond { links, mode: mode.value, miimon: miimon.value, hash: hash.value })
    }

    fn vlan(&self, link: &Link) -> Option<LinkKind> {
        let vlan = link.vlan.get()?;
        Some(LinkKind::Vlan { id: vlan.id.value()?, link: self.kernel_name(vlan.link.get()?) })
    }

    fn bridge(&self, link: &Link) -> Option<LinkKind> {
        let bridge = link.bridge.get()?;
        let links = bridge.links.values().map(|name| self.kernel_name(name)).collect();
        Some(LinkKind::Bridge { links, stp: virtual_link::stp(bridge).value })
    }

    fn push(&mut self, name: LinkName, kind: LinkKind, link: Option<&Link>) {
        let shared = self.node.mtu.as_ref().map(|mtu| mtu.value);
        let master = self.master(&name);
        let addresses: Vec<_> =
            link.into_iter().flat_map(|link| link.addresses.values()).map(|address| address.0).collect();
        let dhcp = link.and_then(|link| link.dhcp.value()).unwrap_or_else(|| {
            master.is_none()
                && self.uses_dhcp_by_default(
                    &name,
                    matches!(kind, LinkKind::Port { .. }) && addresses.is_empty(),
                )
        });
        let shared = shared.filter(|_| !matches!(kind, LinkKind::Loopback | LinkKind::Dummy));
        let mtu = link.and_then(|link| link.mtu.value()).or(shared);
        let routes = link.map(routes).unwrap_or_default();
        self.links.push(LinkPlan { name, kind, mtu, dhcp, addresses, routes, vip: None, master });
    }

    /// Whether a link without a `dhcp` setting uses DHCP; `free` is a port without addresses.
    fn uses_dhcp_by_default(&self, name: &LinkName, free: bool) -> bool {
        let carries = *name == self.kernel_name(&self.node.link.value);
        if carries && self.node.addressing.value != Addressing::Static {
            return !self.is_static();
        }
        let addressed = carries && self.node.address.iter().next().is_some();
        free && !addressed && !self.is_unnumbered(name)
    }

    /// Whether the node's address is static at this stage.
    fn is_static(&self) -> bool {
        match self.node.addressing.value {
            Addressing::Static => true,
            Addressing::DhcpThenStatic => self.stage == ConfigStage::Final,
            Addressing::Dhcp => false,
        }
    }

    fn is_unnumbered(&self, name: &LinkName) -> bool {
        let mut neighbors = self.node.routing.iter().flat_map(|routing| &routing.neighbors);
        neighbors.any(|neighbor| matches!(&neighbor.peer, NeighborAddress::Link(link) if self.kernel_name(link) == *name))
    }

    fn master(&self, name: &LinkName) -> Option<Master> {
        self.configured_links().find_map(|(master, link)| {
            if let Some(bond) = link.bond.get() {
                let nth = bond.links.values().position(|member| self.kernel_name(member) == *name)?;
                return Some(Master::Bond(master.clone(), nth));
            }
            let mut members = link.bridge.get()?.links.values();
            members.any(|member| self.kernel_name(member) == *name).then(|| Master::Bridge(master.clone()))
        })
    }

    fn add_dummies(&mut self) {
        let network = self.node.settings.network.get();
        let api = network.and_then(|network| network.api.get());
        // Before the API server runs, its anycast address must not attract traffic.
        let settled = self.stage == ConfigStage::Final;
        let dummies = self.node.dummies.iter().filter(|dummy| settled || !dummy.anycast);
        for dummy in dummies {
            let settings = network.and_then(|network| network.dummy.get()?.get(dummy.name.as_str()));
            let mtu = settings.and_then(|dummy| dummy.value.mtu.value());
            let anycast = api.into_iter().flat_map(|api| api.anycast.values()).map(|prefix| prefix.0);
            let addresses: Vec<_> = if dummy.anycast {
                anycast.collect()
            } else {
                dummy.address.iter().map(|(address, _)| address).collect()
            };
            let link = self.configured_link(&dummy.name);
            if self.find(&dummy.name).is_none() {
                self.push(dummy.name.clone(), LinkKind::Dummy, link);
                let made = self.links.last_mut().expect("pushed above");
                made.mtu = mtu.or(made.mtu);
            }
            if let Some(link) = self.find(&dummy.name) {
                link.addresses.extend(addresses);
            }
        }
    }

    /// Adds the node's addresses and default routes.
    fn add_addresses(&mut self) {
        if !self.is_static() {
            return;
        }
        let node = self.node;
        let metric = node.metric.value;
        let v4 = node.gateway.v4.as_ref().map(|v4| IpAddr::V4(v4.value));
        let v6 = node.gateway.v6.as_ref().map(|v6| IpAddr::V6(v6.value));
        let gateways = v4.into_iter().chain(v6).map(|via| RoutePlan { to: None, via: Some(via), metric });
        let name = self.kernel_name(&node.link.value);
        if let Some(link) = self.find(&name) {
            link.addresses.splice(0..0, node.address.iter().map(|(address, _)| address));
            link.routes.splice(0..0, gateways);
        }
    }

    fn add_vip(&mut self) {
        if let Some(vip) = self.node.vip.as_ref().filter(|_| self.stage == ConfigStage::Final) {
            let name = self.kernel_name(&vip.link);
            if self.find(&name).is_none() {
                self.push(name.clone(), LinkKind::Dummy, None);
            }
            if let Some(link) = self.find(&name) {
                link.vip = Some(vip.address);
            }
        }
    }

    /// Drops `lo` if it has no settings, or nothing uses them.
    fn drop_unused_loopback(&mut self) {
        // Talos uses DHCP on unnamed ports until any link is configured.
        let alone = self.links.len() == 1 && self.node.routing.is_none();
        self.links.retain(|link| link.kind != LinkKind::Loopback || !(alone || link.is_bare()));
    }
}

/// Whether a link is a bond, VLAN or bridge.
fn is_virtual(link: &Link) -> bool {
    link.bond.is_set() || link.vlan.is_set() || link.bridge.is_set()
}

/// The routes of a link, without empty ones.
fn routes(link: &Link) -> Vec<RoutePlan> {
    let plan = |via: Option<IpAddr>, to: Option<IpNet>, metric| RoutePlan {
        to: to.filter(|to| via.is_none() || to.prefix_len() > 0),
        via,
        metric,
    };
    let routes = link.routes.values().map(|route| {
        plan(route.via.value(), route.to.get().map(|to| to.0), virtual_link::metric(route).value)
    });
    routes.filter(|route| route.family().is_some()).collect()
}

/// Whether a port is a placeholder of a machine without settings: it has no name of the kernel, no MAC address, and only DHCP.
fn is_placeholder(node: &NodePlan, link: &LinkPlan) -> bool {
    let port = node.ports.iter().find(|port| port.name == link.name);
    let named = node.settings.network.get().and_then(|network| network.node.get()?.link.get());
    port.is_some_and(|port| port.mac.is_none())
        && link.dhcp
        && !node.settings.ports.is_set()
        && !node.is_kernels_port_name(link.name.as_str())
        && named != Some(&link.name)
        && node.vip.as_ref().is_none_or(|vip| vip.link != link.name)
        && node.settings.links.values().all(|written| written.name.get() != Some(&link.name))
}

/// The name of a VLAN in Talos 1.11; a long parent name is truncated and made unique with a hash.
pub(crate) fn vlan_name(below: &LinkName, id: VlanId) -> LinkName {
    let below = below.as_str();
    let name = if below.len() + 5 <= LONGEST_NAME {
        format!("{below}.{}", id.0)
    } else {
        let [a, b, c, ..] = <[u8; 32]>::from(Sha256::digest(below));
        let cut = (0..=4).rev().find(|end| below.is_char_boundary(*end)).unwrap_or(0);
        let start = &below[..cut];
        format!("{start}{a:02x}{b:02x}{c:02x}.{}", id.0)
    };
    LinkName::parse(&name).expect("short enough, of the characters of a name")
}

#[cfg(test)]
mod tests {
    use super::super::tests::planned;
    use super::*;

    /// The links of the first node of a text, with their addresses.
    fn describe_links(text: &'static str, stage: ConfigStage) -> Vec<String> {
        let plan = planned(text);
        let links = plan.nodes[0].links(stage);
        let describe = |link: &LinkPlan| {
            let addresses: Vec<_> = link.addresses.iter().map(ToString::to_string).collect();
            let dhcp = if link.dhcp { " dhcp" } else { "" };
            format!("{} [{}]{dhcp}", link.name, addresses.join(" "))
        };
        links.iter().map(describe).collect()
    }

    #[test]
    fn dhcp_then_static_uses_dhcp_before_the_final_configuration() {
        let text = "{cluster: {name: a, talos: v1.13.9},
                     network: {node: {v4: 10.0.0.0/24, addressing: dhcp-then-static}},
                     nodes: [{name: a, index: 1, platform: nocloud, ports: [eth0, eth1]}]}";

        assert_eq!(describe_links(text, ConfigStage::Boot), ["eth0 [] dhcp", "eth1 [] dhcp"]);
        assert_eq!(describe_links(text, ConfigStage::Final), ["eth0 [10.0.0.1/24]", "eth1 [] dhcp"]);
    }

    #[test]
    fn ports_of_bonds_and_of_unnumbered_neighbors_do_not_use_dhcp() {
        let text = "{cluster: {name: a, talos: v1.13.9}, network: {node: null},
                     routing: {neighbors: [{link: fab0, asn: 65000}], asn: 65001, router_id: 10.0.0.1},
                     nodes: [{name: a, index: 1, ports: [fab0, up0, up1, up2],
                       links: [{name: bond0, bond: {links: [up0, up1]}}]}]}";

        assert_eq!(
            describe_links(text, ConfigStage::Final),
            ["fab0 []", "up0 []", "up1 []", "up2 [] dhcp", "bond0 []"]
        );
    }

    #[test]
    fn a_bond_with_the_node_address_uses_dhcp() {
        let text = "{cluster: {name: a, talos: v1.13.9}, network: {node: {addressing: dhcp, link: bond0}},
                     nodes: [{name: a, ports: [eno1, eno2], links: [{name: bond0, bond: {links: [eno1, eno2]}}]}]}";

        assert_eq!(describe_links(text, ConfigStage::Final), ["eno1 []", "eno2 []", "bond0 [] dhcp"]);
    }

    #[test]
    fn addresses_of_the_api_are_only_in_the_final_configuration() {
        let text = "{cluster: {name: a, talos: v1.13.9},
                     network: {node: {v4: 10.0.0.0/24}, api: {vip: 10.0.0.9, anycast: [10.9.9.9/32, 10.9.9.8/32]}},
                     nodes: [{name: a, role: controlplane, index: 1, ports: [eno1]}]}";
        let vip = |stage| planned(text).nodes[0].links(stage)[0].vip;

        assert_eq!(describe_links(text, ConfigStage::Boot), ["eno1 [10.0.0.1/24]"]);
        assert_eq!(
            describe_links(text, ConfigStage::Final),
            ["eno1 [10.0.0.1/24]", "dummy1 [10.9.9.9/32 10.9.9.8/32]"]
        );
        assert_eq!((vip(ConfigStage::Boot), vip(ConfigStage::Final)), (None, "10.0.0.9".parse().ok()));
    }

    #[test]
    fn a_vip_on_a_dummy_link_creates_the_link() {
        let plan = planned(
            "{cluster: {name: a, talos: v1.13.9},
              network: {node: {v4: 10.0.0.0/24}, api: {vip: 10.0.0.9, link: dummy1}},
              nodes: [{name: a, role: controlplane, index: 1, ports: [eno1]}]}",
        );

        let links = plan.nodes[0].links(ConfigStage::Final);

        assert_eq!((&links[1].kind, links[1].vip), (&LinkKind::Dummy, "10.0.0.9".parse().ok()));
    }

    #[test]
    fn kube_vip_replaces_the_vip() {
        let plan = planned(
            "{cluster: {name: a, talos: v1.13.9, kube_vip: {address: 10.0.0.9}},
              network: {node: {v4: 10.0.0.0/24}, api: {vip: 10.0.0.9}},
              nodes: [{name: a, role: controlplane, index: 1, ports: [eno1]}]}",
        );

        assert_eq!(plan.nodes[0].links(ConfigStage::Final)[0].vip, None);
    }

    #[test]
    fn a_machine_without_settings_has_no_links() {
        let text = "{cluster: {name: a, id: 7, talos: v1.13.9}, network: {node: {addressing: dhcp}},
                     nodes: [{name: a, index: 1}]}";

        assert_eq!(describe_links(text, ConfigStage::Final), [""; 0]);
    }

    #[test]
    fn a_link_name_of_the_kernel_identifies_a_port() {
        let text = "{cluster: {name: a, talos: v1.13.9}, network: {node: {v4: 10.0.0.0/24, link: enp3s0}},
                     nodes: [{name: a, index: 1}]}";

        assert_eq!(describe_links(text, ConfigStage::Final), ["enp3s0 [10.0.0.1/24]"]);
    }

    #[test]
    fn vlans_of_talos_1_11_are_named_after_their_parent() {
        let text = "{cluster: {name: a, talos: v1.11.5}, network: {node: {v4: 10.0.0.0/24, link: storage}},
                     nodes: [{name: a, index: 1, ports: [eno1],
                       links: [{name: storage, vlan: {id: 20, link: eno1}}]}]}";

        assert_eq!(describe_links(text, ConfigStage::Final), ["eno1 [] dhcp", "eno1.20 [10.0.0.1/24]"]);
        let long = LinkName::parse("enx001122334455").unwrap();
        assert_eq!(vlan_name(&long, VlanId(4094)).as_str().len(), 15);
    }

    #[test]
    fn a_port_is_matched_by_mac_address_only_if_the_kernel_gives_it_another_name() {
        let plan = planned(
            "{cluster: {name: a, talos: v1.13.9}, defaults: {macs: [\"52:54:00:00:00:01\"]},
              nodes: [{name: a}, {name: b, platform: nocloud}, {name: c, ports: [eno1]}]}",
        );

        let found: Vec<_> = plan
            .nodes
            .iter()
            .map(|node| node.links(ConfigStage::Boot)[0].kind.matched_mac().is_some())
            .collect();

        assert_eq!(found, [true, false, false]);
    }

    #[test]
    fn a_cycle_of_vlans_terminates() {
        let text = "{cluster: {name: a, talos: v1.11.5}, network: {node: null},
                     nodes: [{name: a, index: 1, ports: [eno1], links: [{name: x, vlan: {id: 1, link: y}},
                       {name: y, vlan: {id: 2, link: x}}]}]}";

        assert_eq!(describe_links(text, ConfigStage::Final).len(), 3);
    }
}
