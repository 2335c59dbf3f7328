//! Detection of a conflicting routing daemon on the node.

use std::fs;
use std::path::Path;

use ichor_bgp::agent::conflicting_daemon;
use ichor_values::Backend;

/// The sockets of the calling thread's network namespace, of all processes.
const SOCKETS: &str = "/proc/net/unix";

/// A program that removes the routes of a backend; `own` is the socket of the node's own daemon, while it runs.
pub fn find_conflicting_daemon(backend: Backend, own: Option<&Path>) -> Option<String> {
    let sockets = fs::read(SOCKETS).ok()?;
    conflicting_daemon::find_conflicting_daemon(
        backend,
        &String::from_utf8_lossy(&sockets),
        own.and_then(Path::to_str),
    )
}
