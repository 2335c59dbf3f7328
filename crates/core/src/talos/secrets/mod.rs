//! A cluster's secrets, in the form of `talosctl gen secrets`.
//!
//! [`Bundle`] is what a secrets file holds: identity, tokens, certificate authorities, keys.

mod bundle;
mod pem;

pub use bundle::{Bundle, Hidden, Pair, Problem, Problems};
pub use pem::Pem;
