//! Being told that something changed.

use std::collections::BTreeSet;
use std::io;

use futures_util::FutureExt;
use nix::errno::Errno;
use nix::libc;
use rtnetlink::MulticastGroup;
use rtnetlink::sys::protocols::NETLINK_ROUTE;
use rtnetlink::sys::{AsyncSocket, AsyncSocketExt, SocketAddr, TokioSocket};

use super::namespace;

/// What changed. Only that: what it is like now has to be asked.
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

/// The octets of a message that are read: it tells its kind after its length.
const HEADER: usize = 16;

impl NetlinkWatch {
    /// Begins to listen; needs a tokio runtime. Whoever asks the kernel after that misses nothing.
    pub fn open() -> io::Result<Self> {
        Self::of(LINKS.into_iter().chain(OTHERS))
    }

    /// The same for the links of a named namespace. Whoever listens there keeps it alive: see [`number`](super::number).
    pub fn links_in(namespace: &str) -> io::Result<Self> {
        namespace::visit(namespace, || Self::of(LINKS))
    }

    fn of(groups: impl IntoIterator<Item = MulticastGroup>) -> io::Result<Self> {
        let mut socket = TokioSocket::new(NETLINK_ROUTE)?;
        let bits = groups.into_iter().fold(0, |bits, group| bits | 1 << (group as u32 - 1));
        socket.socket_mut().bind(&SocketAddr::new(0, bits))?;
        Ok(Self(socket))
    }

    /// Waits for the next change, and takes all that came meanwhile: a thousand routes are a few changes. Everything when more
    /// happened at once than the kernel could tell. An error when nothing will be told any more.
    pub async fn next(&mut self) -> io::Result<BTreeSet<KernelChange>> {
        let mut changed = BTreeSet::new();
        while changed.is_empty() {
            changed.extend(self.one().await?);
        }
        while let Some(more) = self.one().now_or_never() {
            changed.extend(more?);
        }
        Ok(changed)
    }

    /// What one message says. The rest of it is never copied.
    async fn one(&self) -> io::Result<&'static [KernelChange]> {
        let mut header = [0; HEADER];
        match self.0.recv(&mut header.as_mut_slice()).await {
            Ok(()) => Ok(change(u16::from_ne_bytes([header[4], header[5]]))),
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => Ok(&KernelChange::ALL),
            Err(error) => Err(error),
        }
    }
}

fn change(kind: u16) -> &'static [KernelChange] {
    match kind {
        libc::RTM_NEWLINK | libc::RTM_DELLINK | libc::RTM_NEWADDR | libc::RTM_DELADDR => {
            &[KernelChange::Links]
        }
        libc::RTM_NEWROUTE | libc::RTM_DELROUTE => &[KernelChange::Routes],
        libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH => &[KernelChange::Neighbours],
        _ => &[],
    }
}
