//! Being told that something changed.

use std::collections::BTreeSet;
use std::io;

use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use netlink_packet_route::RouteNetlinkMessage;
use rtnetlink::MulticastGroup;
use rtnetlink::packet_core::{NetlinkMessage, NetlinkPayload};

use super::namespace;

/// What changed. Only that: what it is like now has to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A link or an address.
    Links,
    /// A route.
    Routes,
    /// A neighbour.
    Neighbours,
}

impl Change {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Links, Self::Routes, Self::Neighbours];
}

/// Changes of one network namespace: the one the calling thread is in when it is opened.
pub struct Watch {
    changes: BoxStream<'static, &'static [Change]>,
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
        let changes = messages.map(|(message, _)| change(&message)).boxed();
        Ok(Self { changes, _handle: handle })
    }

    /// The same for a named namespace. Whoever listens there keeps it alive: see [`number`](super::number).
    pub fn open_in(namespace: &str) -> io::Result<Self> {
        namespace::visit(namespace, Self::open)
    }

    /// Waits for the next change, and takes all that came meanwhile: a thousand routes are one change. Everything when more
    /// happened at once than the kernel could tell. An error when nothing will be told any more.
    pub async fn next(&mut self) -> io::Result<BTreeSet<Change>> {
        let mut changed = BTreeSet::new();
        while changed.is_empty() {
            let first = self.changes.next().await;
            changed
                .extend(first.ok_or_else(|| io::Error::other("the kernel does not tell changes any more"))?);
        }
        while let Some(Some(more)) = self.changes.next().now_or_never() {
            changed.extend(more);
        }
        Ok(changed)
    }
}

fn change(message: &NetlinkMessage<RouteNetlinkMessage>) -> &'static [Change] {
    use RouteNetlinkMessage as Message;
    match &message.payload {
        NetlinkPayload::Overrun(_) => &Change::ALL,
        NetlinkPayload::InnerMessage(message) => match message {
            Message::NewLink(_) | Message::DelLink(_) | Message::NewAddress(_) | Message::DelAddress(_) => {
                &[Change::Links]
            }
            Message::NewRoute(_) | Message::DelRoute(_) => &[Change::Routes],
            Message::NewNeighbour(_) | Message::DelNeighbour(_) => &[Change::Neighbours],
            _ => &[],
        },
        _ => &[],
    }
}
