//! The kernel's table of neighbours: who has which link-local address on a port.
//!
//! GoBGP looks there for the one neighbour of a port when it reads its file, and exits when it finds none, or several.

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use ichor_values::Mac;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;

use super::{Kernel, error, unless};

/// Somebody on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// The kernel's number of the link.
    pub link: u32,
    /// Its link-local address.
    pub address: Ipv6Addr,
    /// Its MAC address, as far as it is known.
    pub mac: Option<Mac>,
    /// Whether it did not answer when it was last asked for.
    pub failed: bool,
}

impl Kernel {
    /// The neighbours with a link-local address on a link.
    pub async fn neighbours(&self, link: u32) -> io::Result<Vec<Neighbour>> {
        let mut request = NeighbourMessage::default();
        request.header.family = AddressFamily::Inet6;
        let answers = self.list(RouteNetlinkMessage::GetNeighbour(request)).await?;
        let neighbours = answers.iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewNeighbour(message) => neighbour(message),
            _ => None,
        });
        Ok(neighbours.filter(|neighbour| neighbour.link == link).collect())
    }

    /// Puts a router that was heard into the table, and link-local neighbours that are none out of it. Says whether anything
    /// had to be changed.
    pub async fn only_neighbour(&self, link: u32, address: Ipv6Addr, mac: Mac) -> io::Result<bool> {
        let known = self.neighbours(link).await?;
        let is_known = |neighbour: &&Neighbour| neighbour.address == address && neighbour.mac == Some(mac);
        let others: Vec<_> = known.iter().filter(|neighbour| neighbour.address != address).collect();
        for other in &others {
            self.forget_neighbour(other).await?;
        }
        if known.iter().find(is_known).is_some_and(|neighbour| !neighbour.failed) {
            return Ok(!others.is_empty());
        }
        let request = self.handle.neighbours().add(link, IpAddr::V6(address));
        // Stale: the kernel asks before it relies on it.
        let request =
            request.link_layer_address(&mac.0).state(NeighbourState::Stale).flags(NeighbourFlags::Router);
        request.replace().execute().await.map_err(error)?;
        Ok(true)
    }

    async fn forget_neighbour(&self, neighbour: &Neighbour) -> io::Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet6;
        message.header.ifindex = neighbour.link;
        message.attributes.push(NeighbourAttribute::Destination(NeighbourAddress::Inet6(neighbour.address)));
        unless(self.handle.neighbours().del(message).execute().await, &[Errno::ENOENT])
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
