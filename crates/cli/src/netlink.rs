//! rtnetlink queries in the network namespace of this thread.

use std::io;
use std::os::fd::AsRawFd as _;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// Receive buffer; kernel messages are up to 32 KiB.
const PART: usize = 64 * 1024;

/// Sends a dump request and returns all answers.
pub(crate) fn dump(question: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
    let kernel =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    let mut message = NetlinkMessage::from(question);
    message.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    sendto(kernel.as_raw_fd(), &bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let (mut answers, mut part) = (Vec::new(), vec![0; PART]);
    loop {
        let length = recv(kernel.as_raw_fd(), &mut part, MsgFlags::empty())?;
        if !parse_messages(&part[..length], &mut answers)? {
            return Ok(answers);
        }
    }
}

/// Parses the messages of one datagram; false at the end of the dump.
fn parse_messages(mut part: &[u8], answers: &mut Vec<RouteNetlinkMessage>) -> io::Result<bool> {
    while !part.is_empty() {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(part).map_err(io::Error::other)?;
        let length = usize::try_from(message.header.length).map_err(io::Error::other)?;
        match message.payload {
            NetlinkPayload::Done(_) => return Ok(false),
            NetlinkPayload::Error(error) => return Err(error.to_io()),
            NetlinkPayload::InnerMessage(answer) => answers.push(answer),
            _ => {}
        }
        part = part.get(length.next_multiple_of(4).max(16)..).unwrap_or_default();
    }
    Ok(true)
}
