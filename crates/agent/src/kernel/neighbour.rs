//! The kernel's neighbour table: the link-local addresses on a port.
//!
//! GoBGP looks up the single neighbour of a port there when it reads its file, and exits unless there is exactly one.

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use ichor_values::Mac;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;

use super::{Kernel, error, ignore_errors};

/// An entry of the neighbour table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// The interface index of the link.
    pub link: u32,
    /// Its link-local address.
    pub address: Ipv6Addr,
    /// Its MAC address, if it is known.
    pub mac: Option<Mac>,
    /// Whether the last address resolution failed.
    pub failed: bool,
}

impl Kernel {
    /// The neighbours with a link-local address on a link.
    pub async fn neighbours(&self, link: u32) -> io::Result<Vec<Neighbour>> {
        let mut request = NeighbourMessage::default();
        request.header.family = AddressFamily::Inet6;
        let responses = self.list(RouteNetlinkMessage::GetNeighbour(request)).await?;
        let neighbours = responses.iter().filter_map(|response| match response {
            RouteNetlinkMessage::NewNeighbour(message) => neighbour(message),
            _ => None,
        });
        Ok(neighbours.filter(|neighbour| neighbour.link == link).collect())
    }

    /// Makes a discovered router the only link-local neighbour of a link. Returns whether the table had to be changed.
    pub async fn set_only_neighbour(&self, link: u32, address: Ipv6Addr, mac: Mac) -> io::Result<bool> {
        let known = self.neighbours(link).await?;
        let is_known = |neighbour: &&Neighbour| neighbour.address == address && neighbour.mac == Some(mac);
        let others: Vec<_> = known.iter().filter(|neighbour| neighbour.address != address).collect();
        for other in &others {
            self.remove_neighbour(other).await?;
        }
        if known.iter().find(is_known).is_some_and(|neighbour| !neighbour.failed) {
            return Ok(!others.is_empty());
        }
        let request = self.handle.neighbours().add(link, IpAddr::V6(address));
        // Stale: the kernel verifies the entry before it relies on it.
        let request =
            request.link_layer_address(&mac.0).state(NeighbourState::Stale).flags(NeighbourFlags::Router);
        request.replace().execute().await.map_err(error)?;
        Ok(true)
    }

    async fn remove_neighbour(&self, neighbour: &Neighbour) -> io::Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet6;
        message.header.ifindex = neighbour.link;
        message.attributes.push(NeighbourAttribute::Destination(NeighbourAddress::Inet6(neighbour.address)));
        ignore_errors(self.handle.neighbours().del(message).execute().await, &[Errno::ENOENT])
    }
}

fn neighbour(message: &NeighbourMessage) -> Option<Neighbour> {
    let (mut address, mut mac) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(found)) => address = Some(*found),
            NeighbourAttribute::LinkLayerAddress(bytes) => {
                mac = <[u8; 6]>::try_from(&bytes[..]).ok().map(Mac);
            }
            _ => {}
        }
    }
    let address = address.filter(Ipv6Addr::is_unicast_link_local)?;
    let failed = message.header.state == NeighbourState::Failed;
    Some(Neighbour { link: message.header.ifindex, address, mac, failed })
}
