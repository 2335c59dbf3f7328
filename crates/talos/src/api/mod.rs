//! The messages of Talos' API, as far as ichor speaks it; what calls and fields mean is Talos' own word.
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

/// Where a node's API is, over TCP.
pub const PORT: u16 = 50000;

/// A message that says nothing.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Empty {}
