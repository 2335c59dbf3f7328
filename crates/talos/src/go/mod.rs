//! Addresses, URLs and numbers as Go's libraries parse them, where they differ from other parsers.
//!
//! Talos judges texts by whether Go's parsers take them, so ichor has to take and refuse the same ones.
//!
//! Not here: YAML ([`yaml`](ichor_values::go_yaml::reader)), and formats of Talos' own ([`scalar`](super::types::scalar)).

pub mod base64;
pub mod duration;
pub mod endpoint;
pub(crate) mod hostport;
pub mod humanize;
pub mod image;
pub(crate) mod key_order;
pub mod netip;
pub mod path;
pub mod pem;
pub(crate) mod semver;
pub mod url;
