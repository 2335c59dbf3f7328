//! Router solicitations and advertisements on a port, by a raw socket.

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

/// A jumbo frame: these messages come in one piece (RFC 6980).
const LONGEST: usize = 9216;

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// A port on which routers are looked for, and which says that it is one itself. Needs CAP_NET_RAW.
#[derive(Debug)]
pub struct RaSocket {
    /// Not really UDP: it is what tokio has to wait for packets with, of whatever kind.
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

    /// Asks for routers: they answer with an advertisement before their next is due.
    pub async fn solicit(&self) -> io::Result<()> {
        self.send(&NdpMessage::Solicitation { source: self.mac }, ALL_ROUTERS).await
    }

    /// Says that this node is here, and nobody's default router: a leaf learns its address so.
    pub async fn advertise(&self) -> io::Result<()> {
        let said = Advertisement { lifetime: 0, source: self.mac, mtu: None };
        self.send(&NdpMessage::Advertisement(said), ALL_NODES).await
    }

    async fn send(&self, message: &NdpMessage, to: Ipv6Addr) -> io::Result<()> {
        let bytes = message.bytes();
        self.socket.send_to(&bytes, SocketAddrV6::new(to, 0, 0, self.index)).await.map(drop)
    }

    /// The next message of somebody on the link, with its address. Anything else is left unheard: what is malformed, and
    /// what came through a router (RFC 4861, section 6.1).
    pub async fn hear(&self) -> io::Result<(Ipv6Addr, NdpMessage)> {
        let mut buffer = vec![0; LONGEST];
        loop {
            let (length, from, hops) =
                self.socket.async_io(Interest::READABLE, || receive(&self.socket, &mut buffer)).await?;
            let Some(from) = from.filter(|_| hops == Some(i32::from(HOP_LIMIT))) else { continue };
            match NdpMessage::parse(&buffer[..length]) {
                // A router has a link-local address; who asks for one may have none so far.
                Ok(message @ NdpMessage::Advertisement(_)) if from.is_unicast_link_local() => {
                    return Ok((from, message));
                }
                Ok(message @ NdpMessage::Solicitation { .. }) => return Ok((from, message)),
                _ => {}
            }
        }
    }
}

/// One packet: its length, who sent it, and how far it may still go.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, Option<Ipv6Addr>, Option<i32>)> {
    let mut space = nix::cmsg_space!(i32);
    let mut parts = [IoSliceMut::new(buffer)];
    let packet = recvmsg::<SockaddrIn6>(socket.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty())?;
    let hops = packet.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::Ipv6HopLimit(hops) => Some(hops),
        _ => None,
    });
    Ok((packet.bytes, packet.address.map(|address| address.ip()), hops))
}
