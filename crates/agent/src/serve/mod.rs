//! The status endpoints: a socket for `ichor-agent status`, HTTP on this node only, and mutual TLS.
//!
//! All serve the same [`AgentStatus`], which the run loop publishes in a channel. [`socket`] sends its line; [`local`]
//! and [`tls`] serve pages. Each runs until it is dropped, and closes its connections then.
//!
//! A client cannot delay the agent: a connection has a time limit, their number is limited, the oldest is closed first,
//! and little is read from any.

mod connection_limit;
pub mod local;
mod page;
pub mod socket;
pub mod tls;

use std::time::Duration;

use ichor_bgp::agent::AgentStatus;
use tokio::sync::watch::Receiver;

/// The source of the status.
pub type StatusSource = Receiver<AgentStatus>;

/// How long a connection may last.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause after a connection could not be accepted, for example for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);
