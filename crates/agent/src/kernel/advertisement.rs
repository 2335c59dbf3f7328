//! Router solicitations and advertisements on a port, over a raw socket.

use std::io::{self, IoSliceMut};
use std::net::{Ipv6Addr, SocketAddrV6};
use std::os::fd::AsRawFd;

use ichor_bgp::agent::Link;
use ichor_bgp::agent::advertisement::{Advertisement, HOP_LIMIT, NdpMessage};
use ichor_values::Mac;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn6, recvmsg};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// A jumbo frame: these messages are not fragmented (RFC 6980).
const LONGEST: usize = 9216;

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// A port on which routers are discovered, and the node advertises itself. Needs CAP_NET_RAW.
#[derive(Debug)]
pub struct RaSocket {
    /// Not UDP: tokio's type to wait for packets on any socket.
    socket: UdpSocket,
    index: u32,
    mac: Option<Mac>,
}

impl RaSocket {
    /// Begins to listen on a link; needs a tokio runtime.
    pub fn open(link: &Link) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
        socket.bind_device(Some(link.name.as_bytes()))?;
        socket.set_nonblocking(true)?;
        socket.set_multicast_hops_v6(u32::from(HOP_LIMIT))?;
        socket.set_unicast_hops_v6(u32::from(HOP_LIMIT))?;
        socket.set_multicast_if_v6(link.index)?;
        socket.set_multicast_loop_v6(false)?;
        socket.set_recv_hoplimit_v6(true)?;
        socket.join_multicast_v6(&ALL_ROUTERS, link.index)?;
        let socket = UdpSocket::from_std(socket.into())?;
        Ok(Self { socket, index: link.index, mac: link.mac })
    }

    /// Requests advertisements before the next regular one.
    pub async fn solicit(&self) -> io::Result<()> {
        self.send(&NdpMessage::Solicitation { source: self.mac }, ALL_ROUTERS).await
    }

    /// Advertises this node, with lifetime 0: it is not a default router, but a leaf learns its address.
    pub async fn advertise(&self) -> io::Result<()> {
        let advertisement = Advertisement { lifetime: 0, source: self.mac, mtu: None };
        self.send(&NdpMessage::Advertisement(advertisement), ALL_NODES).await
    }

    async fn send(&self, message: &NdpMessage, to: Ipv6Addr) -> io::Result<()> {
        let bytes = message.bytes();
        self.socket.send_to(&bytes, SocketAddrV6::new(to, 0, 0, self.index)).await.map(drop)
    }

    /// The next message of a node on the link, with its address. Malformed messages, and those that a router forwarded
    /// (RFC 4861, section 6.1), are ignored.
    pub async fn receive(&self) -> io::Result<(Ipv6Addr, NdpMessage)> {
        let mut buffer = vec![0; LONGEST];
        loop {
            let (length, from, hops) = self
                .socket
                .async_io(Interest::READABLE, || receive_packet(&self.socket, &mut buffer))
                .await?;
            let Some(from) = from.filter(|_| hops == Some(i32::from(HOP_LIMIT))) else { continue };
            match NdpMessage::parse(&buffer[..length]) {
                // A router has a link-local address; the sender of a solicitation may not have one yet.
                Ok(message @ NdpMessage::Advertisement(_)) if from.is_unicast_link_local() => {
                    return Ok((from, message));
                }
                Ok(message @ NdpMessage::Solicitation { .. }) => return Ok((from, message)),
                _ => {}
            }
        }
    }
}

/// One packet: its length, its sender, and its hop limit.
fn receive_packet(
    socket: &UdpSocket,
    buffer: &mut [u8],
) -> io::Result<(usize, Option<Ipv6Addr>, Option<i32>)> {
    let mut space = nix::cmsg_space!(i32);
    let mut parts = [IoSliceMut::new(buffer)];
    let packet = recvmsg::<SockaddrIn6>(socket.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty())?;
    let hops = packet.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::Ipv6HopLimit(hops) => Some(hops),
        _ => None,
    });
    Ok((packet.bytes, packet.address.map(|address| address.ip()), hops))
}
