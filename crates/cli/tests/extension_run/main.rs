//! The extension that `ichor extension build` makes, with the real agent in it, run as Talos runs a service.

#[path = "../common/mod.rs"]
mod common;
mod lab;
