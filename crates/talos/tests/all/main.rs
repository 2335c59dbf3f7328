//! Talos' formats, compared with what Talos itself reads and writes.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "cases are files, and some tests run programs"
)]

mod api_wire;
mod clusters;
mod golden;
mod kubernetes;
mod patches;
mod round_trip;
mod secrets;
mod sops;
mod talosctl;
mod validate;
