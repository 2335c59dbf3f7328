//! Links and their addresses, as reported by the kernel.

use std::io;
use std::net::IpAddr;

use ichor_bgp::agent::Link;
use ichor_bgp::agent::wiring::{GROUP, PROTOCOL};
use ichor_values::Mac;
use ipnet::IpNet;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressProtocol};
use netlink_packet_route::link::{
    InfoData, InfoVrf, LinkAttribute, LinkExtentMask, LinkFlags, LinkInfo, LinkMessage,
};
use rustix::net::netdevice::name_to_index;

use super::Kernel;

impl Kernel {
    /// Every link of the namespace with its addresses, in the kernel's order.
    pub async fn links(&self) -> io::Result<Vec<Link>> {
        let mut all = LinkMessage::default();
        // Statistics would be half of the kernel's reply.
        all.attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
        let links = self.list(RouteNetlinkMessage::GetLink(all)).await?;
        let addresses = self.list(RouteNetlinkMessage::GetAddress(AddressMessage::default())).await?;
        let mut links: Vec<Link> = links.into_iter().filter_map(parse_link).collect();
        for message in addresses {
            let RouteNetlinkMessage::NewAddress(message) = message else { continue };
            let owner = links.iter_mut().find(|link| link.index == message.header.index);
            if let (Some(link), Some((net, given))) = (owner, parse_address(&message)) {
                link.addresses.push(net);
                link.given.extend(given.then_some(net));
            }
        }
        Ok(links)
    }

    /// The index of a link. Netlink would return every detail of it.
    pub(super) fn index(&self, name: &str) -> io::Result<u32> {
        Ok(name_to_index(&self.numbers, name)?)
    }
}

fn parse_link(message: RouteNetlinkMessage) -> Option<Link> {
    let RouteNetlinkMessage::NewLink(message) = message else { return None };
    let flags = message.header.flags;
    let mut link = Link {
        index: message.header.index,
        loopback: flags.contains(LinkFlags::Loopback),
        up: flags.contains(LinkFlags::Up),
        carrier: flags.contains(LinkFlags::Up | LinkFlags::LowerUp),
        ..Link::default()
    };
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name = name,
            LinkAttribute::Mtu(mtu) => link.mtu = mtu,
            LinkAttribute::Address(bytes) => link.mac = parse_mac(&bytes),
            LinkAttribute::PermAddress(bytes) => link.permanent = parse_mac(&bytes),
            LinkAttribute::Controller(index) => link.master = Some(index),
            LinkAttribute::Link(index) => link.peer = Some(index),
            LinkAttribute::LinkNetNsId(_) => link.far = true,
            LinkAttribute::Group(group) => link.made = group == GROUP,
            LinkAttribute::LinkInfo(infos) => set_kind(&mut link, infos),
            _ => {}
        }
    }
    Some(link)
}

fn set_kind(link: &mut Link, infos: Vec<LinkInfo>) {
    for info in infos {
        match info {
            LinkInfo::Kind(kind) => link.kind = Some(kind.to_string()),
            LinkInfo::Data(InfoData::Vrf(data)) => {
                link.table = data.iter().find_map(|info| match info {
                    InfoVrf::TableId(table) => Some(*table),
                    _ => None,
                });
            }
            _ => {}
        }
    }
}

/// A MAC address of six octets; the kernel reports zeros for the loopback, which has none.
fn parse_mac(bytes: &[u8]) -> Option<Mac> {
    <[u8; 6]>::try_from(bytes).ok().filter(|octets| *octets != [0; 6]).map(Mac)
}

/// The address, and whether the agent added it. If both ends are reported, ours is `Local`.
fn parse_address(message: &AddressMessage) -> Option<(IpNet, bool)> {
    let (mut local, mut other, mut given) = (None, None, false);
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(address) => local = Some(*address),
            AddressAttribute::Address(address) => other = Some(*address),
            AddressAttribute::Protocol(protocol) => given = *protocol == AddressProtocol::Other(PROTOCOL),
            _ => {}
        }
    }
    let address: IpAddr = local.or(other)?;
    Some((IpNet::new(address, message.header.prefix_len).ok()?, given))
}
