//! The documents of networks: `<network>`.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::lease::Leases;
use crate::cluster::section::Libvirt;
use crate::plan::{DEFAULT_BRIDGE, Plan};
use crate::render::hypervisor::guest::Guest;
use crate::render::xml::Element;

/// A network that machines are in.
#[derive(Debug)]
pub struct Network<'h> {
    bridge: &'h str,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// libvirt's own, which is there.
    Default,
    /// A bridge that is there.
    Bridge,
    /// A bridge of Open vSwitch that is there.
    OpenVswitch,
    /// One that libvirt makes, behind NAT.
    Nat(IpNet, Option<Leases>),
}

/// The networks of a host's machines, one for each bridge.
pub fn of<'h>(host: &'h Libvirt, plan: &Plan, guests: &[&'h Guest<'_>]) -> Vec<Network<'h>> {
    let settings = host.network.get();
    let own = settings.and_then(|network| network.bridge.get()).map_or(DEFAULT_BRIDGE, |name| name.as_str());
    let mut bridges: BTreeMap<&str, Vec<&Guest<'_>>> = BTreeMap::new();
    for guest in guests {
        bridges.entry(&guest.vm.bridge.value).or_default().push(guest);
    }
    let network = |(bridge, guests): (&'h str, Vec<&Guest<'_>>)| {
        let nat = settings.and_then(|network| network.nat.get()).filter(|_| bridge == own);
        let form = match nat {
            Some(nat) => {
                let leases = match nat.0 {
                    IpNet::V4(prefix) => Some(Leases::of(prefix, plan, &guests)),
                    IpNet::V6(_) => None,
                };
                Form::Nat(nat.0, leases)
            }
            None if settings.and_then(|network| network.ovs.value()) == Some(true) => Form::OpenVswitch,
            None if bridge == DEFAULT_BRIDGE => Form::Default,
            None => Form::Bridge,
        };
        Network { bridge, form }
    };
    bridges.into_iter().map(network).collect()
}

impl Network<'_> {
    /// The name of the network on a bridge: the bridge's own, but for libvirt's first.
    pub fn name_of(bridge: &str) -> &str {
        if bridge == DEFAULT_BRIDGE { "default" } else { bridge }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        Self::name_of(self.bridge)
    }

    /// Whether it is brought in, and not libvirt's own.
    pub fn is_ours(&self) -> bool {
        !matches!(self.form, Form::Default)
    }

    /// Where its document goes.
    pub fn path(&self) -> String {
        format!("networks/{}.xml", self.name())
    }

    /// Its document.
    pub fn document(&self) -> Element {
        let bridge = Element::new("bridge").with("name", self.bridge);
        let network = Element::new("network").hold(Element::new("name").say(self.name()));
        let forward = |mode: &str| Element::new("forward").with("mode", mode);
        match &self.form {
            Form::Default | Form::Bridge => network.hold(forward("bridge")).hold(bridge),
            Form::OpenVswitch => network
                .hold(forward("bridge"))
                .hold(bridge)
                .hold(Element::new("virtualport").with("type", "openvswitch")),
            Form::Nat(prefix, leases) => network
                .hold(nat(*prefix))
                .hold(bridge.with("stp", "on").with("delay", 0))
                .hold(ip(*prefix, leases.as_ref())),
        }
    }
}

/// libvirt translates IPv6 only where it is told to.
fn nat(prefix: IpNet) -> Element {
    let forward = Element::new("forward").with("mode", "nat");
    match prefix {
        IpNet::V4(_) => forward,
        IpNet::V6(_) => forward.hold(Element::new("nat").with("ipv6", "yes")),
    }
}

fn ip(prefix: IpNet, leases: Option<&Leases>) -> Element {
    let ip = Element::new("ip");
    let Some(leases) = leases else {
        let first = prefix.hosts().nth(usize::from(prefix.prefix_len() < 127)).unwrap_or(prefix.network());
        return ip.with("family", "ipv6").with("address", first).with("prefix", prefix.prefix_len());
    };
    let range = leases.range.map(|(from, to)| Element::new("range").with("start", from).with("end", to));
    let host = |lease: &super::lease::Lease| {
        Element::new("host").with("mac", lease.mac).with("name", &lease.name).with("ip", lease.address)
    };
    let dhcp = Element::new("dhcp").hold_all(range).hold_all(leases.fixed.iter().map(host));
    ip.with("address", leases.host).with("prefix", prefix.prefix_len()).hold(dhcp)
}
