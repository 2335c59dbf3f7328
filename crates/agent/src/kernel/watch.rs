//! Being told that something changed.

use std::io;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use netlink_packet_route::RouteNetlinkMessage;
use rtnetlink::MulticastGroup;
use rtnetlink::packet_core::{NetlinkMessage, NetlinkPayload};

/// What changed. Only that: what it is like now has to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A link or an address.
    Links,
    /// A route.
    Routes,
    /// A neighbour.
    Neighbours,
    /// Too much at once, so that something was not told: anything may have changed.
    Lost,
}

/// Changes of one network namespace: the one the calling thread is in when it is opened.
pub struct Watch {
    changes: BoxStream<'static, Change>,
    /// The connection ends with it.
    _handle: rtnetlink::Handle,
}

const GROUPS: &[MulticastGroup] = &[
    MulticastGroup::Link,
    MulticastGroup::Ipv4Ifaddr,
    MulticastGroup::Ipv6Ifaddr,
    MulticastGroup::Ipv4Route,
    MulticastGroup::Ipv6Route,
    MulticastGroup::Neigh,
];

impl Watch {
    /// Begins to listen; needs a tokio runtime. Whoever asks the kernel after that misses nothing.
    pub fn open() -> io::Result<Self> {
        let (connection, handle, messages) = rtnetlink::new_multicast_connection(GROUPS)?;
        tokio::spawn(connection);
        let changes = messages.filter_map(|(message, _)| std::future::ready(change(&message))).boxed();
        Ok(Self { changes, _handle: handle })
    }

    /// The next change; an error when there will be none any more.
    pub async fn next(&mut self) -> io::Result<Change> {
        self.changes.next().await.ok_or_else(|| io::Error::other("the kernel does not tell changes any more"))
    }
}

fn change(message: &NetlinkMessage<RouteNetlinkMessage>) -> Option<Change> {
    use RouteNetlinkMessage as Message;
    match &message.payload {
        NetlinkPayload::Overrun(_) => Some(Change::Lost),
        NetlinkPayload::InnerMessage(message) => match message {
            Message::NewLink(_) | Message::DelLink(_) | Message::NewAddress(_) | Message::DelAddress(_) => {
                Some(Change::Links)
            }
            Message::NewRoute(_) | Message::DelRoute(_) => Some(Change::Routes),
            Message::NewNeighbour(_) | Message::DelNeighbour(_) => Some(Change::Neighbours),
            _ => None,
        },
        _ => None,
    }
}
