//! The documents of networks: `<network>`.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::lease::{AddressAssignments, DhcpReservation};
use crate::plan::{DEFAULT_BRIDGE, LibvirtPlan, Plan};
use crate::render::hypervisor::guest::VmDefinition;
use crate::render::xml::XmlElement;
use ichor_values::Prefix;

/// A network that machines are in.
#[derive(Debug)]
pub struct LibvirtNetwork<'h> {
    bridge: &'h str,
    form: NetworkMode,
}

#[derive(Debug)]
enum NetworkMode {
    /// libvirt's own, which is there.
    Default,
    /// A bridge that is there.
    Bridge,
    /// A bridge of Open vSwitch that is there.
    OpenVswitch,
    /// One that libvirt makes, behind NAT, with DHCP.
    Nat4(Ipv4Net, AddressAssignments),
    /// The same for IPv6, in which the host has this address; nodes find it by its advertisements.
    Nat6(Ipv6Net, Ipv6Addr),
}

/// The networks of a host's machines, one for each bridge.
pub fn of<'h>(
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
                NetworkMode::Nat4(prefix, AddressAssignments::of(prefix, plan, &guests))
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
    /// The name of the network on a bridge: the bridge's own, but for libvirt's first.
    pub(crate) fn name_of(bridge: &str) -> &str {
        if bridge == DEFAULT_BRIDGE { "default" } else { bridge }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        Self::name_of(self.bridge)
    }

    /// Whether it is brought in, and not libvirt's own.
    pub(crate) fn is_ours(&self) -> bool {
        !matches!(self.form, NetworkMode::Default)
    }

    /// Where its document goes.
    pub fn path(&self) -> String {
        format!("networks/{}.xml", self.name())
    }

    /// Its document.
    pub fn document(&self) -> XmlElement {
        let bridge = XmlElement::new("bridge").with("name", self.bridge);
        let network = XmlElement::new("network").hold(XmlElement::new("name").say(self.name()));
        let forward = |mode: &str| XmlElement::new("forward").with("mode", mode);
        match &self.form {
            NetworkMode::Default | NetworkMode::Bridge => network.hold(forward("bridge")).hold(bridge),
            NetworkMode::OpenVswitch => network
                .hold(forward("bridge"))
                .hold(bridge)
                .hold(XmlElement::new("virtualport").with("type", "openvswitch")),
            NetworkMode::Nat4(prefix, leases) => {
                let ip =
                    XmlElement::new("ip").with("address", leases.host).with("prefix", prefix.prefix_len());
                network.hold(forward("nat")).hold(made(bridge)).hold(ip.hold(dhcp(leases)))
            }
            NetworkMode::Nat6(prefix, host) => {
                // libvirt translates IPv6 only where it is told to.
                let nat = forward("nat").hold(XmlElement::new("nat").with("ipv6", "yes"));
                let ip = XmlElement::new("ip").with("family", "ipv6").with("address", host);
                network.hold(nat).hold(made(bridge)).hold(ip.with("prefix", prefix.prefix_len()))
            }
        }
    }
}

/// A bridge that libvirt makes.
fn made(bridge: XmlElement) -> XmlElement {
    bridge.with("stp", "on").with("delay", 0)
}

/// The nodes' gateway, else the first address.
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
    XmlElement::new("dhcp").hold_all(range).hold_all(leases.fixed.iter().map(host))
}
