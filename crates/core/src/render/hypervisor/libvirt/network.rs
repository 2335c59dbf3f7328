//! Network documents: `<network>`.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::lease::{AddressAssignments, DhcpReservation};
use crate::plan::{DEFAULT_BRIDGE, LibvirtPlan, Plan};
use crate::render::hypervisor::vm_definition::VmDefinition;
use crate::render::xml::XmlElement;
use ichor_values::Prefix;

/// A network of virtual machines.
#[derive(Debug)]
pub struct LibvirtNetwork<'h> {
    bridge: &'h str,
    form: NetworkMode,
}

#[derive(Debug)]
enum NetworkMode {
    /// libvirt's default network.
    Default,
    /// An existing bridge.
    Bridge,
    /// An existing Open vSwitch bridge.
    OpenVswitch,
    /// A NAT network with DHCP, whose bridge libvirt creates.
    Nat4(Ipv4Net, AddressAssignments),
    /// The same for IPv6 with router advertisements, and the address of the host.
    Nat6(Ipv6Net, Ipv6Addr),
}

/// The networks of a host's machines, one per bridge.
pub fn networks<'h>(
    host: &'h LibvirtPlan,
    plan: &Plan,
    guests: &[&'h VmDefinition<'_>],
) -> Vec<LibvirtNetwork<'h>> {
    let mut bridges: BTreeMap<&str, Vec<&VmDefinition<'_>>> = BTreeMap::new();
    for guest in guests {
        bridges.entry(&guest.vm.bridge.value).or_default().push(guest);
    }
    let network = |(bridge, guests): (&'h str, Vec<&VmDefinition<'_>>)| {
        let nat = host.nat.as_ref().map(|nat| nat.value).filter(|_| bridge == host.bridge.value);
        let form = match nat {
            Some(Prefix(IpNet::V4(prefix))) => {
                NetworkMode::Nat4(prefix, AddressAssignments::assign(prefix, plan, &guests))
            }
            Some(Prefix(IpNet::V6(prefix))) => NetworkMode::Nat6(prefix, host6(prefix, &guests)),
            None if host.ovs.value => NetworkMode::OpenVswitch,
            None if bridge == DEFAULT_BRIDGE => NetworkMode::Default,
            None => NetworkMode::Bridge,
        };
        LibvirtNetwork { bridge, form }
    };
    bridges.into_iter().map(network).collect()
}

impl LibvirtNetwork<'_> {
    /// The name of the network on a bridge: `default` for libvirt's default bridge, else the bridge's name.
    pub(crate) fn name_on(bridge: &str) -> &str {
        if bridge == DEFAULT_BRIDGE { "default" } else { bridge }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        Self::name_on(self.bridge)
    }

    /// Whether ichor defines it: all but libvirt's default network.
    pub(crate) fn is_defined_by_ichor(&self) -> bool {
        !matches!(self.form, NetworkMode::Default)
    }

    /// The path of its document.
    pub fn path(&self) -> String {
        format!("networks/{}.xml", self.name())
    }

    /// Its document.
    pub fn document(&self) -> XmlElement {
        let bridge = XmlElement::new("bridge").with("name", self.bridge);
        let network = XmlElement::new("network").child(XmlElement::new("name").text(self.name()));
        let forward = |mode: &str| XmlElement::new("forward").with("mode", mode);
        match &self.form {
            NetworkMode::Default | NetworkMode::Bridge => network.child(forward("bridge")).child(bridge),
            NetworkMode::OpenVswitch => network
                .child(forward("bridge"))
                .child(bridge)
                .child(XmlElement::new("virtualport").with("type", "openvswitch")),
            NetworkMode::Nat4(prefix, leases) => {
                let ip =
                    XmlElement::new("ip").with("address", leases.host).with("prefix", prefix.prefix_len());
                network.child(forward("nat")).child(created_bridge(bridge)).child(ip.child(dhcp(leases)))
            }
            NetworkMode::Nat6(prefix, host) => {
                // libvirt uses NAT for IPv6 only if it is enabled.
                let nat = forward("nat").child(XmlElement::new("nat").with("ipv6", "yes"));
                let ip = XmlElement::new("ip").with("family", "ipv6").with("address", host);
                network.child(nat).child(created_bridge(bridge)).child(ip.with("prefix", prefix.prefix_len()))
            }
        }
    }
}

/// Attributes of a bridge that libvirt creates.
fn created_bridge(bridge: XmlElement) -> XmlElement {
    bridge.with("stp", "on").with("delay", 0)
}

/// The host's address: the nodes' gateway, else the first address.
fn host6(prefix: Ipv6Net, guests: &[&VmDefinition<'_>]) -> Ipv6Addr {
    let gateway = |guest: &&VmDefinition<'_>| guest.node.gateway.v6.as_ref().map(|v6| v6.value);
    let first = Ipv6Addr::from(u128::from(prefix.network()) | 1);
    guests.iter().find_map(gateway).filter(|address| prefix.contains(address)).unwrap_or(first)
}

fn dhcp(leases: &AddressAssignments) -> XmlElement {
    let range = leases.range.map(|(from, to)| XmlElement::new("range").with("start", from).with("end", to));
    let host = |lease: &DhcpReservation| {
        XmlElement::new("host").with("mac", lease.mac).with("name", &lease.name).with("ip", lease.address)
    };
    XmlElement::new("dhcp").children(range).children(leases.fixed.iter().map(host))
}
