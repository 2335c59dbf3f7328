//! What BIRD 2 says on its control socket.
//!
//! A [`Reply`] is read from the bytes that came; [`sessions`] makes [`Session`](super::Session)s of three of them. BIRD has
//! no JSON, so lines are told apart by their codes and, below a protocol, by their labels. 2.0 and 2.17 say the same.

mod reply;
mod session;
mod since;

pub use reply::Reply;
pub use session::sessions;

/// The question whose answer [`sessions`] takes first.
pub const PROTOCOLS: &str = "show protocols all";
/// The question whose answer [`sessions`] takes second.
pub const BFD: &str = "show bfd sessions";
/// The question whose answer [`sessions`] takes third.
pub const STATUS: &str = "show status";
