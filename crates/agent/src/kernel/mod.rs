//! The kernel: links, addresses, routes and sysctls.
//!
//! A [`Kernel`] communicates by netlink. [`observe`](Kernel::observe) reads the state that `core` decides upon,
//! [`apply`](Kernel::apply) applies its decisions, [`down`](Kernel::down) reverts them; a [`NetlinkWatch`] reports
//! changes. [`routes`] has the BGP routes, [`neighbour`] and [`advertisement`] what is at the other end of a port.

pub mod advertisement;
mod apply;
mod conflicting_daemon;
mod down;
mod link;
mod namespace;
pub mod neighbour;
mod observe;
pub mod routes;
mod sysctl;
mod watch;

use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use futures_util::StreamExt;
use netlink_packet_route::RouteNetlinkMessage;
use rtnetlink::packet_core::{NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use rtnetlink::sys::AsyncSocket;

pub use apply::{ApplyError, ApplyOutcome};
pub use conflicting_daemon::find_conflicting_daemon;
pub use down::{DownError, RemovalError};
pub use namespace::{FOLDER, namespace_inode};
pub use observe::ObserveError;
pub use watch::{KernelChange, NetlinkWatch};

/// How often a list is requested again because it changed while it was read.
const ATTEMPTS: usize = 5;

/// The hint after a permission error.
pub(crate) const HINT: &str =
    "the agent needs CAP_NET_ADMIN, CAP_NET_RAW and, for a namespace, CAP_SYS_ADMIN";

/// The kernel of one network namespace: the one the calling thread is in.
#[derive(Clone, Debug)]
pub struct Kernel {
    handle: rtnetlink::Handle,
    /// A socket of the same namespace, to query link indices.
    numbers: Arc<UnixDatagram>,
}

impl Kernel {
    /// Opens a netlink socket; needs a tokio runtime.
    pub fn open() -> io::Result<Self> {
        let (mut connection, handle, _) = rtnetlink::new_connection()?;
        // The kernel then filters lists.
        connection.socket_mut().socket_mut().set_netlink_get_strict_chk(true)?;
        tokio::spawn(connection);
        Ok(Self { handle, numbers: Arc::new(UnixDatagram::unbound()?) })
    }

    /// A consistent list.
    async fn list(&self, request: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        for _ in 0..ATTEMPTS {
            if let Some(list) = self.try_list(request.clone()).await? {
                return Ok(list);
            }
        }
        Err(io::Error::other("the list changes faster than it can be read"))
    }

    /// A list; none if it changed while it was read.
    async fn try_list(&self, request: RouteNetlinkMessage) -> io::Result<Option<Vec<RouteNetlinkMessage>>> {
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        let mut responses = self.handle.clone().request(message).map_err(error)?;
        let (mut list, mut is_consistent) = (Vec::new(), true);
        while let Some(response) = responses.next().await {
            is_consistent &= response.header.flags & NLM_F_DUMP_INTR == 0;
            match response.payload {
                NetlinkPayload::InnerMessage(message) => list.push(message),
                NetlinkPayload::Error(error_message) => return Err(error_message.to_io()),
                _ => {}
            }
        }
        Ok(is_consistent.then_some(list))
    }
}

/// The kernel's error, if it returned one.
fn error(error: rtnetlink::Error) -> io::Error {
    match error {
        rtnetlink::Error::NetlinkError(error_message) => error_message.to_io(),
        rtnetlink::Error::RequestFailed => io::Error::other("no response from the kernel"),
        other => io::Error::other(other),
    }
}

/// Treats these errors as success: the desired state exists already.
fn ignore_errors(result: Result<(), rtnetlink::Error>, ignored: &[nix::errno::Errno]) -> io::Result<()> {
    let error = match result {
        Ok(()) => return Ok(()),
        Err(refused) => error(refused),
    };
    let is_ignored = ignored.iter().any(|errno| error.raw_os_error() == Some(*errno as i32));
    if is_ignored { Ok(()) } else { Err(error) }
}
