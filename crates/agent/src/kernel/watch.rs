//! Notifications of changes.

use std::collections::BTreeSet;
use std::io;

use futures_util::FutureExt;
use nix::errno::Errno;
use nix::libc;
use rtnetlink::MulticastGroup;
use rtnetlink::sys::protocols::NETLINK_ROUTE;
use rtnetlink::sys::{AsyncSocket, AsyncSocketExt, SocketAddr, TokioSocket};

use super::namespace;

/// The kind of a change. The new state has to be queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelChange {
    /// A link or an address.
    Links,
    /// A route.
    Routes,
    /// A neighbour.
    Neighbours,
}

impl KernelChange {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Links, Self::Routes, Self::Neighbours];
}

/// Changes of one network namespace: the one the calling thread is in when it is opened.
pub struct NetlinkWatch(TokioSocket);

const LINKS: [MulticastGroup; 3] =
    [MulticastGroup::Link, MulticastGroup::Ipv4Ifaddr, MulticastGroup::Ipv6Ifaddr];
const OTHERS: [MulticastGroup; 3] =
    [MulticastGroup::Ipv4Route, MulticastGroup::Ipv6Route, MulticastGroup::Neigh];

/// The bytes of a message that are read: its type follows its length.
const HEADER: usize = 16;

impl NetlinkWatch {
    /// Starts to listen; needs a tokio runtime. No change is missed from then on.
    pub fn open() -> io::Result<Self> {
        Self::subscribe(LINKS.into_iter().chain(OTHERS))
    }

    /// The same for the links of a named namespace. The socket keeps the namespace alive: see
    /// [`namespace_inode`](super::namespace_inode).
    pub fn links_in(namespace: &str) -> io::Result<Self> {
        namespace::open_in(namespace, || Self::subscribe(LINKS))
    }

    fn subscribe(groups: impl IntoIterator<Item = MulticastGroup>) -> io::Result<Self> {
        let mut socket = TokioSocket::new(NETLINK_ROUTE)?;
        let bits = groups.into_iter().fold(0, |bits, group| bits | 1 << (group as u32 - 1));
        socket.socket_mut().bind(&SocketAddr::new(0, bits))?;
        Ok(Self(socket))
    }

    /// Waits for the next change, and takes all that arrived meanwhile: a thousand routes are a few changes. Returns
    /// every kind after a buffer overrun. An error ends the notifications.
    pub async fn next(&mut self) -> io::Result<BTreeSet<KernelChange>> {
        let mut changed = BTreeSet::new();
        while changed.is_empty() {
            changed.extend(self.receive().await?);
        }
        while let Some(more) = self.receive().now_or_never() {
            changed.extend(more?);
        }
        Ok(changed)
    }

    /// The change of one message. The rest of the message is never copied.
    async fn receive(&self) -> io::Result<&'static [KernelChange]> {
        let mut header = [0; HEADER];
        match self.0.recv(&mut header.as_mut_slice()).await {
            Ok(()) => Ok(changes_of(u16::from_ne_bytes([header[4], header[5]]))),
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => Ok(&KernelChange::ALL),
            Err(error) => Err(error),
        }
    }
}

fn changes_of(kind: u16) -> &'static [KernelChange] {
    match kind {
        libc::RTM_NEWLINK | libc::RTM_DELLINK | libc::RTM_NEWADDR | libc::RTM_DELADDR => {
            &[KernelChange::Links]
        }
        libc::RTM_NEWROUTE | libc::RTM_DELROUTE => &[KernelChange::Routes],
        libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH => &[KernelChange::Neighbours],
        _ => &[],
    }
}
