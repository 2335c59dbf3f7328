//! The kernel: links, addresses, routes and switches.
//!
//! A [`Kernel`] is asked and told by netlink. [`observe`](Kernel::observe) gives what `core` decides upon,
//! [`apply`](Kernel::apply) does what it decided, [`down`](Kernel::down) takes it away again; a [`NetlinkWatch`] says that something
//! changed. [`routes`] are those that came by BGP, [`neighbour`] and [`advertisement`] are who is at the other end of a port.

pub mod advertisement;
mod apply;
mod down;
mod link;
mod namespace;
pub mod neighbour;
mod observe;
mod rival;
pub mod routes;
mod switch;
mod watch;

use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use futures_util::StreamExt;
use netlink_packet_route::RouteNetlinkMessage;
use rtnetlink::packet_core::{NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use rtnetlink::sys::AsyncSocket;

pub use apply::{ApplyError, ApplyOutcome};
pub use down::{DownError, RemovalError};
pub use namespace::{FOLDER, number};
pub use observe::ObserveError;
pub use rival::rival;
pub use watch::{KernelChange, NetlinkWatch};

/// How often a list is asked for again that changed while the kernel told it.
const ATTEMPTS: usize = 5;

/// What to say when the kernel does not allow something.
pub(crate) const HINT: &str =
    "the agent needs CAP_NET_ADMIN, CAP_NET_RAW and, for a namespace, CAP_SYS_ADMIN";

/// The kernel of one network namespace: the one the calling thread is in.
#[derive(Clone, Debug)]
pub struct Kernel {
    handle: rtnetlink::Handle,
    /// What is asked for the numbers of links; it is of the same namespace.
    numbers: Arc<UnixDatagram>,
}

impl Kernel {
    /// Opens the way to the kernel; needs a tokio runtime.
    pub fn open() -> io::Result<Self> {
        let (mut connection, handle, _) = rtnetlink::new_connection()?;
        // Lists are then filtered by the kernel.
        connection.socket_mut().socket_mut().set_netlink_get_strict_chk(true)?;
        tokio::spawn(connection);
        Ok(Self { handle, numbers: Arc::new(UnixDatagram::unbound()?) })
    }

    /// A whole list, as it was at one time.
    async fn list(&self, request: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        for _ in 0..ATTEMPTS {
            if let Some(list) = self.attempt(request.clone()).await? {
                return Ok(list);
            }
        }
        Err(io::Error::other("the list changes faster than it can be read"))
    }

    /// A list; none if it changed while it was told.
    async fn attempt(&self, request: RouteNetlinkMessage) -> io::Result<Option<Vec<RouteNetlinkMessage>>> {
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        let mut answers = self.handle.clone().request(message).map_err(error)?;
        let (mut list, mut whole) = (Vec::new(), true);
        while let Some(answer) = answers.next().await {
            whole &= answer.header.flags & NLM_F_DUMP_INTR == 0;
            match answer.payload {
                NetlinkPayload::InnerMessage(message) => list.push(message),
                NetlinkPayload::Error(refusal) => return Err(refusal.to_io()),
                _ => {}
            }
        }
        Ok(whole.then_some(list))
    }
}

/// The kernel's reason, where it gave one.
fn error(error: rtnetlink::Error) -> io::Error {
    match error {
        rtnetlink::Error::NetlinkError(refusal) => refusal.to_io(),
        rtnetlink::Error::RequestFailed => io::Error::other("the kernel's answer did not come"),
        other => io::Error::other(other),
    }
}

/// Takes one refusal for success: what was to be done is so already.
fn unless(result: Result<(), rtnetlink::Error>, fine: &[nix::errno::Errno]) -> io::Result<()> {
    let error = match result {
        Ok(()) => return Ok(()),
        Err(refused) => error(refused),
    };
    let is_fine = fine.iter().any(|errno| error.raw_os_error() == Some(*errno as i32));
    if is_fine { Ok(()) } else { Err(error) }
}
