//! What Go's libraries take for an address, a URL or a number, where that differs from other readers.
//!
//! Talos judges texts by whether Go's parsers take them, so ichor has to take and refuse the same ones.
//!
//! Not here: YAML ([`yaml`](ichor_values::go_yaml::reader)), and what Talos takes by rules of its own ([`scalar`](super::types::scalar)).

pub mod base64;
pub mod duration;
pub mod endpoint;
pub(crate) mod hostport;
pub mod humanize;
pub mod image;
pub mod netip;
pub mod path;
pub mod pem;
pub(crate) mod semver;
pub mod url;
