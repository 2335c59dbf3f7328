//! Who is on this machine's links: its neighbour table, by netlink.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::{Contact, Identity, Source, Stage};
use ichor_values::Mac;
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
/// How many are called at once, and how long they have to answer. The kernel remembers for three seconds that it asks for an address, and
/// has room for 1024 of them, for everybody on the machine (`gc_thresh3`).
const AT_ONCE: usize = 256;
const ANSWER: Duration = Duration::from_secs(1);
/// Nobody listens at RFC 863's port, and nobody has to: the kernel asks for the MAC address before it sends.
const DISCARD: u16 = 9;

/// Looks for machines by their ports, until nobody listens.
pub(super) async fn search(
    prefixes: Vec<IpNet>,
    subjects: Vec<Arc<Subject>>,
    tell: mpsc::UnboundedSender<Told>,
) {
    while !tell.is_closed() {
        time::sleep(PAUSE).await;
        // That the table can be read was seen at first.
        let found = sweep(&prefixes).await.unwrap_or_default();
        for (nth, subject) in subjects.iter().enumerate() {
            for contact in contacts(&found, &subject.identity) {
                let _ = tell.send(Told::Found(nth, contact));
            }
        }
    }
}

/// Calls every address of short prefixes, so that the kernel finds out who has it, and reads who has which.
pub(super) async fn sweep(prefixes: &[IpNet]) -> io::Result<Vec<(Mac, IpAddr)>> {
    if prefixes.is_empty() {
        return Ok(Vec::new());
    }
    for some in called(prefixes).chunks(AT_ONCE) {
        call(some)?;
        time::sleep(ANSWER).await;
    }
    let asked = prefixes.to_vec();
    spawn_blocking(move || in_prefixes(&asked)).await?
}

/// Where a machine is by its neighbours; the table may still have an address that it had before.
pub(super) fn contacts(found: &[(Mac, IpAddr)], identity: &Identity) -> impl Iterator<Item = Contact> {
    let own = found.iter().filter(|(mac, _)| identity.macs.contains(mac));
    own.map(|(_, address)| Contact { address: *address, stage: Stage::Dhcp, source: Source::Neighbours })
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

/// The addresses that are called. Only IPv4 has prefixes that short.
fn called(prefixes: &[IpNet]) -> Vec<Ipv4Addr> {
    let short = prefixes.iter().filter_map(|prefix| match prefix {
        IpNet::V4(prefix) => Some(prefix.hosts().take(CALLED)),
        IpNet::V6(_) => None,
    });
    short.flatten().collect()
}

/// Sends a datagram to each address.
fn call(addresses: &[Ipv4Addr]) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.set_nonblocking(true)?;
    for address in addresses {
        // Whether it can be sent says nothing about the machine there.
        let _ = socket.send_to(&[], SocketAddr::from((*address, DISCARD)));
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
