//! Another routing daemon in the node's network.

use std::fs;
use std::path::Path;

use ichor_bgp::agent::rival;
use ichor_values::Backend;

/// The sockets of the network that the calling thread is in, whoever holds them.
const SOCKETS: &str = "/proc/net/unix";

/// A program that takes away the routes of a backend; `own` is the socket of the node's own daemon, while that runs.
pub fn rival(backend: Backend, own: Option<&Path>) -> Option<String> {
    let sockets = fs::read(SOCKETS).ok()?;
    rival::rival(backend, &String::from_utf8_lossy(&sockets), own.and_then(Path::to_str))
}
