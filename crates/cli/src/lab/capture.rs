//! Captures packets on the cables of a lab, in the switch namespace.
//!
//! A packet is captured where it arrives from its sender, so each is captured once, even if it is dropped later.

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

/// Receive buffer per port.
const ROOM: usize = 8 << 20;
/// Maximum number of packets read from a port before the other ports.
const AT_ONCE: usize = 1000;
/// Packet type of outgoing packets (`PACKET_OUTGOING`).
const OUTGOING: u8 = 4;

/// A received packet.
pub(crate) struct CapturedPacket {
    /// Index of the port.
    pub port: u32,
    /// Nanoseconds since the Unix epoch.
    pub time: u64,
    /// Original length.
    pub original_length: usize,
    /// Captured bytes.
    pub data: Vec<u8>,
}

/// A capture on several ports.
pub(crate) struct Capture {
    /// Port names, such as `cp1:fab0`.
    pub names: Vec<String>,
    sockets: Vec<(OwnedFd, usize)>,
    buffer: Vec<u8>,
}

impl Capture {
    /// Opens a capture on all ends of the cables of these ends.
    pub(crate) fn open(lab: &Lab, ends: &[CableEndIndex]) -> io::Result<Self> {
        let topology = lab.topology();
        let mut cables: Vec<usize> = ends.iter().map(|(cable, _)| *cable).collect();
        cables.dedup();
        let all = switch::ends(topology).into_iter().filter(|(cable, _)| cables.contains(cable));
        let all: Vec<CableEndIndex> = all.collect();
        let names = all
            .iter()
            .map(|(cable, end)| topology.cable_end_name(topology.cables[*cable].ends[*end]))
            .collect();
        let ports: Vec<String> = all.iter().map(|(cable, end)| switch::port(*cable, *end)).collect();
        let switch_pid = lab.record.switch_pid;
        // A socket stays in the namespace where it was created, so the thread may end.
        let opened = thread::spawn(move || {
            enter_netns(switch_pid)?;
            ports.iter().map(|port| listen(port)).collect::<io::Result<Vec<_>>>()
        });
        let sockets = opened.join().map_err(|_| io::Error::other("the capture thread panicked"))??;
        Ok(Self { names, sockets, buffer: vec![0; pcap::SNAPSHOT_LENGTH as usize] })
    }

    /// Waits for packets, a signal or a timeout, and returns the received packets in the order of their timestamps.
    pub(crate) fn wait(
        &mut self,
        signals: &TerminationSignals,
        timeout: Duration,
    ) -> io::Result<Vec<CapturedPacket>> {
        let mut ready: Vec<PollFd<'_>> =
            self.sockets.iter().map(|(socket, _)| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
        ready.push(signals.poll());
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        match poll(&mut ready, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut packets = Vec::new();
        for (port, (socket, link)) in (0..).zip(&self.sockets) {
            for _ in 0..AT_ONCE {
                match receive(socket, *link, &mut self.buffer)? {
                    None => break,
                    Some(ReceivedFrame::Other) => {}
                    Some(ReceivedFrame::Packet { time, original_length }) => {
                        let data = self.buffer[..original_length.min(self.buffer.len())].to_vec();
                        packets.push(CapturedPacket { port, time, original_length, data });
                    }
                }
            }
        }
        packets.sort_by_key(|packet| packet.time);
        Ok(packets)
    }
}

/// Opens a socket on a port in the namespace of this thread.
fn listen(port: &str) -> io::Result<(OwnedFd, usize)> {
    let address = getifaddrs()?
        .filter(|it| it.interface_name == port)
        .find_map(|it| it.address?.as_link_addr().copied())
        .ok_or_else(|| io::Error::other(format!("no port {port}")))?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)?;
    setsockopt(&listener, sockopt::ReceiveTimestampns, &true)?;
    // Above the limit if privileged, else up to the limit.
    setsockopt(&listener, sockopt::RcvBufForce, &ROOM)
        .or_else(|_| setsockopt(&listener, sockopt::RcvBuf, &ROOM))?;
    bind(listener.as_raw_fd(), &address)?;
    Ok((listener, address.ifindex()))
}

enum ReceivedFrame {
    /// A received packet.
    Packet { time: u64, original_length: usize },
    /// An outgoing packet, or one received before the socket was bound.
    Other,
}

/// Reads the next packet of a socket; none if no packet is queued.
fn receive(socket: &OwnedFd, link: usize, buffer: &mut [u8]) -> io::Result<Option<ReceivedFrame>> {
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut parts = [IoSliceMut::new(buffer)];
    // With this flag the result is the original length, even if the packet is truncated.
    let message =
        recvmsg::<LinkAddr>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::MSG_TRUNC);
    let message = match message {
        Ok(message) => message,
        Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
        // The port is down; it may come up again.
        Err(Errno::ENETDOWN) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let ours = message.address.is_some_and(|from| from.ifindex() == link && from.pkttype() != OUTGOING);
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
        _ => None,
    });
    let time = stamp.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or_default();
    Ok(Some(if ours {
        ReceivedFrame::Packet { time, original_length: message.bytes }
    } else {
        ReceivedFrame::Other
    }))
}
