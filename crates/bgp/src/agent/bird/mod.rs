//! Replies of BIRD 2 on its control socket.
//!
//! A [`Reply`] is parsed from bytes; [`sessions`] combines three of them into [`Session`](super::Session)s. BIRD has no
//! JSON output: lines are recognised by their codes and, below a protocol, by their labels. 2.0 and 2.17 print the
//! same.

mod reply;
mod session;
mod timestamp;

pub use reply::Reply;
pub use session::sessions;

/// The command whose reply [`sessions`] takes first.
pub const PROTOCOLS: &str = "show protocols all";
/// The command whose reply [`sessions`] takes second.
pub const BFD: &str = "show bfd sessions";
/// The command whose reply [`sessions`] takes third.
pub const STATUS: &str = "show status";
