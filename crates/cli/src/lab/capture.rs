//! Packets on the cables of a lab, heard in the hub.
//!
//! A packet is taken where it comes in from the machine that sent it: so each is there once, whatever becomes of it behind.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::thread;
use std::time::Duration;

use ichor_core::lab::pcap;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvmsg,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;

use super::Lab;
use super::collect::enter_netns;
use super::signals::TerminationSignals;
use super::switch::{self, CableEndIndex};

/// Room for packets that nobody has read yet, for each port.
const ROOM: usize = 8 << 20;
/// How many packets of a port are taken before it is looked at the others.
const AT_ONCE: usize = 1000;
/// The kernel's number for packets that go out (PACKET_OUTGOING).
const OUTGOING: u8 = 4;

/// A packet that came in.
pub(crate) struct CapturedPacket {
    /// Number of the port.
    pub port: u32,
    /// Nanoseconds since 1970.
    pub time: u64,
    /// How long it was.
    pub whole: usize,
    /// What was kept of it.
    pub kept: Vec<u8>,
}

/// Ports that are listened on.
pub(crate) struct Capture {
    /// What each is called, as `cp1:fab0`.
    pub names: Vec<String>,
    sockets: Vec<(OwnedFd, usize)>,
    buffer: Vec<u8>,
}

impl Capture {
    /// Listens on all ends of the cables to which these ends belong.
    pub(crate) fn open(lab: &Lab, ends: &[CableEndIndex]) -> io::Result<Self> {
        let scene = lab.scene();
        let mut cables: Vec<usize> = ends.iter().map(|(cable, _)| *cable).collect();
        cables.dedup();
        let all = switch::ends(scene).into_iter().filter(|(cable, _)| cables.contains(cable));
        let all: Vec<CableEndIndex> = all.collect();
        let names = all.iter().map(|(cable, end)| scene.plug(scene.cables[*cable].ends[*end])).collect();
        let ports: Vec<String> = all.iter().map(|(cable, end)| switch::port(*cable, *end)).collect();
        let hub = lab.record.hub;
        // A socket stays in the network in which it was made; the thread that made it ends.
        let opened = thread::spawn(move || {
            enter_netns(hub)?;
            ports.iter().map(|port| listen(port)).collect::<io::Result<Vec<_>>>()
        });
        let sockets = opened.join().map_err(|_| io::Error::other("it could not be listened"))??;
        Ok(Self { names, sockets, buffer: vec![0; pcap::LONGEST as usize] })
    }

    /// Waits for packets, a signal, or the end of `patience`, and gives the packets that are there, in the order of their times.
    pub(crate) fn wait(
        &mut self,
        signals: &TerminationSignals,
        patience: Duration,
    ) -> io::Result<Vec<CapturedPacket>> {
        let mut ready: Vec<PollFd<'_>> =
            self.sockets.iter().map(|(socket, _)| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
        ready.push(signals.poll());
        let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
        match poll(&mut ready, patience) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut packets = Vec::new();
        for (port, (socket, link)) in (0..).zip(&self.sockets) {
            for _ in 0..AT_ONCE {
                match receive(socket, *link, &mut self.buffer)? {
                    None => break,
                    Some(ReceivedFrame::Other) => {}
                    Some(ReceivedFrame::Packet { time, whole }) => {
                        let kept = self.buffer[..whole.min(self.buffer.len())].to_vec();
                        packets.push(CapturedPacket { port, time, whole, kept });
                    }
                }
            }
        }
        packets.sort_by_key(|packet| packet.time);
        Ok(packets)
    }
}

/// Listens on a port of the network that this thread is in.
fn listen(port: &str) -> io::Result<(OwnedFd, usize)> {
    let address = getifaddrs()?
        .filter(|it| it.interface_name == port)
        .find_map(|it| it.address?.as_link_addr().copied())
        .ok_or_else(|| io::Error::other(format!("there is no port {port}")))?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)?;
    setsockopt(&listener, sockopt::ReceiveTimestampns, &true)?;
    // As much as an administrator gives; else what everybody gets.
    setsockopt(&listener, sockopt::RcvBufForce, &ROOM)
        .or_else(|_| setsockopt(&listener, sockopt::RcvBuf, &ROOM))?;
    bind(listener.as_raw_fd(), &address)?;
    Ok((listener, address.ifindex()))
}

enum ReceivedFrame {
    /// It came in.
    Packet { time: u64, whole: usize },
    /// It went out, or came while the socket was not yet bound.
    Other,
}

/// The next thing that a socket has; none when it has nothing.
fn receive(socket: &OwnedFd, link: usize, buffer: &mut [u8]) -> io::Result<Option<ReceivedFrame>> {
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut parts = [IoSliceMut::new(buffer)];
    // With this flag the length is that of the packet, whatever is kept of it.
    let message =
        recvmsg::<LinkAddr>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::MSG_TRUNC);
    let message = match message {
        Ok(message) => message,
        Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
        // The port was taken down: it may come back.
        Err(Errno::ENETDOWN) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let ours = message.address.is_some_and(|from| from.ifindex() == link && from.pkttype() != OUTGOING);
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
        _ => None,
    });
    let time = stamp.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or_default();
    Ok(Some(if ours { ReceivedFrame::Packet { time, whole: message.bytes } } else { ReceivedFrame::Other }))
}
