//! Addresses of machines from the kernel's neighbour table, by netlink.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::{AddressOrigin, AddressStage, MachineIdentity, NodeAddress};
use ichor_values::Mac;
use ipnet::IpNet;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time;

use super::engine::EngineEvent;
use super::observer::NodeTarget;
use crate::netlink::dump;

/// Interval between sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(2);

/// Maximum number of probed addresses per prefix.
const MAX_PROBED: usize = 1024;
/// Probes per batch, and the time for replies. The kernel keeps an unresolved neighbour for three seconds, and
/// its table has room for 1024 entries of all processes (`gc_thresh3`).
const BATCH: usize = 256;
const REPLY_WINDOW: Duration = Duration::from_secs(1);
/// Discard port (RFC 863). It need not be open: the kernel resolves the MAC address before it sends.
const DISCARD: u16 = 9;

/// Looks for machines by MAC address until the receiver is dropped.
pub(super) async fn watch_neighbours(
    prefixes: Vec<IpNet>,
    targets: Vec<Arc<NodeTarget>>,
    events: mpsc::UnboundedSender<EngineEvent>,
) {
    while !events.is_closed() {
        time::sleep(SWEEP_INTERVAL).await;
        // The first sweep showed that the table is readable.
        let found = sweep(&prefixes).await.unwrap_or_default();
        for (nth, target) in targets.iter().enumerate() {
            for contact in contacts(&found, &target.identity) {
                let _ = events.send(EngineEvent::AddressFound(nth, contact));
            }
        }
    }
}

/// Probes every address of IPv4 prefixes, so that the kernel resolves it, and reads the neighbour table.
pub(super) async fn sweep(prefixes: &[IpNet]) -> io::Result<Vec<(Mac, IpAddr)>> {
    if prefixes.is_empty() {
        return Ok(Vec::new());
    }
    for some in probed_addresses(prefixes).chunks(BATCH) {
        probe(some)?;
        time::sleep(REPLY_WINDOW).await;
    }
    let asked = prefixes.to_vec();
    spawn_blocking(move || in_prefixes(&asked)).await?
}

/// Addresses of a machine in the neighbour table, which may contain outdated ones.
pub(super) fn contacts(
    found: &[(Mac, IpAddr)],
    identity: &MachineIdentity,
) -> impl Iterator<Item = NodeAddress> {
    let own = found.iter().filter(|(mac, _)| identity.macs.contains(mac));
    own.map(|(_, address)| NodeAddress {
        address: *address,
        stage: AddressStage::Dhcp,
        source: AddressOrigin::Neighbours,
    })
}

/// Neighbours with an address in one of `prefixes`.
pub(crate) fn in_prefixes(prefixes: &[IpNet]) -> io::Result<Vec<(Mac, IpAddr)>> {
    let answers = dump(RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default()))?;
    let found = answers.iter().filter_map(|answer| match answer {
        RouteNetlinkMessage::NewNeighbour(message) => neighbour(message),
        _ => None,
    });
    Ok(found.filter(|(_, address)| prefixes.iter().any(|prefix| prefix.contains(address))).collect())
}

/// Addresses to probe. IPv6 prefixes are too large.
fn probed_addresses(prefixes: &[IpNet]) -> Vec<Ipv4Addr> {
    let short = prefixes.iter().filter_map(|prefix| match prefix {
        IpNet::V4(prefix) => Some(prefix.hosts().take(MAX_PROBED)),
        IpNet::V6(_) => None,
    });
    short.flatten().collect()
}

/// Sends an empty datagram to each address.
fn probe(addresses: &[Ipv4Addr]) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.set_nonblocking(true)?;
    for address in addresses {
        // A send error says nothing about the machine.
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
