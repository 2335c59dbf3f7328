//! Who is on this machine's links: its neighbour table, by netlink.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::{Contact, Source, Stage};
use ichor_core::cluster::value::Mac;
use ipnet::IpNet;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time;

use super::engine::Told;
use super::look::Subject;
use crate::netlink::dump;

/// How often neighbours are looked for.
const PAUSE: Duration = Duration::from_secs(2);

/// The most addresses of a prefix that are called.
const CALLED: usize = 1024;
/// Nobody listens at RFC 863's port, and nobody has to: the kernel asks for the MAC address before it sends.
const DISCARD: u16 = 9;

/// Looks for machines by their ports, until nobody listens.
pub(super) async fn search(
    prefixes: Vec<IpNet>,
    subjects: Vec<Arc<Subject>>,
    tell: mpsc::UnboundedSender<Told>,
) {
    while !tell.is_closed() {
        let asked = prefixes.clone();
        let found = spawn_blocking(move || {
            call(&asked)?;
            in_prefixes(&asked)
        });
        let found = found.await.ok().and_then(Result::ok).unwrap_or_default();
        // The table may still have an address that the machine had before.
        for (nth, subject) in subjects.iter().enumerate() {
            for (_, address) in found.iter().filter(|(mac, _)| subject.identity.macs.contains(mac)) {
                let contact = Contact { address: *address, stage: Stage::Dhcp, source: Source::Neighbours };
                let _ = tell.send(Told::Found(nth, contact));
            }
        }
        time::sleep(PAUSE).await;
    }
}

/// The neighbours with an address in one of `prefixes`.
pub(crate) fn in_prefixes(prefixes: &[IpNet]) -> io::Result<Vec<(Mac, IpAddr)>> {
    let answers = dump(RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default()))?;
    let found = answers.iter().filter_map(|answer| match answer {
        RouteNetlinkMessage::NewNeighbour(message) => neighbour(message),
        _ => None,
    });
    Ok(found.filter(|(_, address)| prefixes.iter().any(|prefix| prefix.contains(address))).collect())
}

/// Sends a datagram to every address of a prefix, so that the kernel finds out who has it. Only IPv4 has prefixes that short.
pub(crate) fn call(prefixes: &[IpNet]) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.set_nonblocking(true)?;
    for prefix in prefixes {
        let IpNet::V4(prefix) = prefix else { continue };
        for address in prefix.hosts().take(CALLED) {
            // Whether it can be sent says nothing about the machine there.
            let _ = socket.send_to(&[], SocketAddr::from((address, DISCARD)));
        }
    }
    Ok(())
}

fn neighbour(message: &NeighbourMessage) -> Option<(Mac, IpAddr)> {
    if matches!(message.header.state, NeighbourState::Failed | NeighbourState::Incomplete) {
        return None;
    }
    let (mut address, mut mac) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(found)) => {
                address = Some(IpAddr::from(*found));
            }
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(found)) => {
                address = Some(IpAddr::from(*found));
            }
            NeighbourAttribute::LinkLayerAddress(bytes) => {
                mac = <[u8; 6]>::try_from(&bytes[..]).ok().map(Mac);
            }
            _ => {}
        }
    }
    Some((mac?, address?))
}
