//! Links and their addresses, as the kernel tells them.

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
        // How much went over them is half of what the kernel would tell.
        all.attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
        let links = self.list(RouteNetlinkMessage::GetLink(all)).await?;
        let addresses = self.list(RouteNetlinkMessage::GetAddress(AddressMessage::default())).await?;
        let mut links: Vec<Link> = links.into_iter().filter_map(link).collect();
        for message in addresses {
            let RouteNetlinkMessage::NewAddress(message) = message else { continue };
            let owner = links.iter_mut().find(|link| link.index == message.header.index);
            if let (Some(link), Some((net, given))) = (owner, address(&message)) {
                link.addresses.push(net);
                link.given.extend(given.then_some(net));
            }
        }
        Ok(links)
    }

    /// The number of a link. By netlink the kernel would tell everything about it.
    pub(super) fn index(&self, name: &str) -> io::Result<u32> {
        Ok(name_to_index(&self.numbers, name)?)
    }
}

fn link(message: RouteNetlinkMessage) -> Option<Link> {
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
            LinkAttribute::Address(bytes) => link.mac = mac(&bytes),
            LinkAttribute::PermAddress(bytes) => link.permanent = mac(&bytes),
            LinkAttribute::Controller(index) => link.master = Some(index),
            LinkAttribute::Link(index) => link.peer = Some(index),
            LinkAttribute::LinkNetNsId(_) => link.far = true,
            LinkAttribute::Group(group) => link.made = group == GROUP,
            LinkAttribute::LinkInfo(infos) => kind(&mut link, infos),
            _ => {}
        }
    }
    Some(link)
}

fn kind(link: &mut Link, infos: Vec<LinkInfo>) {
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

/// An address of six octets; the loopback has none, though it tells one.
fn mac(bytes: &[u8]) -> Option<Mac> {
    <[u8; 6]>::try_from(bytes).ok().filter(|octets| *octets != [0; 6]).map(Mac)
}

/// The address, and whether the agent gave it. Where both ends are told, ours is `Local`.
fn address(message: &AddressMessage) -> Option<(IpNet, bool)> {
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
