//! The messages of Talos' API, as far as ichor uses it; the meaning of calls and fields is in Talos' documentation.
//!
//! Field numbers are the same from Talos 1.11 to 1.14. [`method`] is the list of calls.
#![allow(missing_docs)] // The names are Talos' own.

pub mod cluster;
pub mod common;
pub mod config;
pub mod cosi;
pub mod image;
pub mod lifecycle;
pub mod machine;
pub mod method;

/// The TCP port of a node's API.
pub const PORT: u16 = 50000;

/// An empty message.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Empty {}
