//! The state for others: on a socket for `ichor-agent status`, over HTTP on this node alone, and over mutual TLS.
//!
//! All tell the same [`AgentStatus`], which the run loop puts into a channel. [`socket`] gives its line;
//! [`local`] and [`tls`] give pages. Each lasts until it is dropped, and its connections with it.
//!
//! Whoever connects cannot hold the agent up: a connection has its time, there are only so many at once, the oldest goes
//! first, and little is read from any.

mod connection_limit;
pub mod local;
mod page;
pub mod socket;
pub mod tls;

use std::time::Duration;

use ichor_bgp::agent::AgentStatus;
use tokio::sync::watch::Receiver;

/// Where the state comes from.
pub type StatusSource = Receiver<AgentStatus>;

/// How long a connection may last, from the first byte to the last.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause after a connection could not be taken: for want of file numbers, for instance.
const PAUSE: Duration = Duration::from_millis(100);
