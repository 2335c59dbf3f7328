//! Routes from a node to an address, and their links.

use std::net::IpAddr;

use ipnet::IpNet;

use super::NodePlan;
use super::link::DEEPEST;
use crate::cluster::section::{Addressing, Link};
use ichor_values::{LinkName, Mtu};

impl NodePlan {
    /// Whether the node has a route to `address`; assumed with DHCP.
    pub(crate) fn has_route_to(&self, address: IpAddr) -> bool {
        let gateway = match address {
            IpAddr::V4(_) => self.gateway.v4.is_some(),
            IpAddr::V6(v6) => self.gateway.v6.is_some() && !v6.is_unicast_link_local(),
        };
        let mut links = self.settings.links.values();
        gateway
            || self.addressing.value == Addressing::Dhcp
            || self.address.iter().any(|(net, _)| net.contains(&address))
            || links.any(|link| {
                link.dhcp.value() == Some(true)
                    || link.addresses.values().any(|own| own.0.contains(&address))
                    || link.routes.values().any(|route| match route.to.get() {
                        Some(to) => to.0.contains(&address),
                        None => route.via.get().is_some_and(|via| via.is_ipv4() == address.is_ipv4()),
                    })
            })
    }

    /// The link to a neighbour with this address, below all VLANs.
    pub(crate) fn link_to(&self, address: IpAddr) -> &LinkName {
        let connected = |link: &&Link| link.addresses.values().any(|own| own.0.contains(&address));
        let routed = |link: &&Link| {
            link.routes.values().any(|route| route.to.get().is_some_and(|to| to.0.contains(&address)))
        };
        let main = self.address.iter().any(|(net, _)| net.contains(&address));
        let listed = || {
            let links = || self.settings.links.values();
            links().find(connected).or_else(|| links().find(routed))?.name.get()
        };
        let own = if main { None } else { listed() };
        self.base_link(own.unwrap_or(&self.link.value))
    }

    /// The links in the file with their addresses.
    pub(crate) fn listed_links(&self) -> impl Iterator<Item = (&LinkName, impl Iterator<Item = IpNet>)> {
        let links = self.settings.links.values();
        links.filter_map(|link| Some((link.name.get()?, link.addresses.values().map(|address| address.0))))
    }

    /// The MTU of a link in the file.
    pub(crate) fn link_mtu(&self, name: &LinkName) -> Option<Mtu> {
        let mut links = self.settings.links.values();
        let of_link = links.find(|link| link.name.get() == Some(name)).and_then(|link| link.mtu.value());
        of_link.or(self.mtu.as_ref().map(|mtu| mtu.value))
    }

    /// The prefixes of its dummy links.
    pub(crate) fn dummy_prefixes(&self) -> Vec<IpNet> {
        let written = self.settings.network.get().into_iter().flat_map(|network| network.dummy.entries());
        let mut nets = Vec::new();
        for (_, dummy) in written {
            nets.extend(dummy.value.v4.value().and_then(|v4| v4.around()).map(IpNet::V4));
            nets.extend(dummy.value.v6.value().and_then(|v6| v6.around()).map(IpNet::V6));
        }
        nets
    }

    /// The lowest parent of a VLAN, or the link itself if it is not a VLAN.
    pub(crate) fn base_link<'n>(&'n self, name: &'n LinkName) -> &'n LinkName {
        let below = |name: &LinkName| {
            let mut links = self.settings.links.values();
            links.find(|link| link.name.get() == Some(name))?.vlan.get()?.link.get()
        };
        (0..DEEPEST).try_fold(name, |name, _| below(name).ok_or(name)).unwrap_or_else(|last| last)
    }
}
