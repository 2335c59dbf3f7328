//! Decides everything ichor does, and touches nothing.
//!
//! The folders are the flow, left to right: [`cluster`] reads the file as typed, [`model`] resolves it, [`plan`] decides
//! every value, [`rules`] judges the result, [`routing`] is what BGP on nodes and routers means, [`prove`] computes what comes
//! of it, [`render`] turns it all into bytes, [`migrate`] compares two of them, and [`reload`] makes running daemons
//! follow. [`agent`] is what the agent on a node decides. [`talos`] holds what is known of Talos itself, [`media`] writes and
//! reads the volumes that it boots with, and [`inspect`] says what it makes of them. [`extension`] makes system extensions, and
//! [`oci`] writes and reads the images they travel in. [`lab`] is the same fabric on one machine, of real daemons.

pub mod agent;
pub mod cluster;
pub mod extension;
pub mod image;
pub mod inspect;
pub mod lab;
mod links;
pub mod media;
pub mod migrate;
pub mod model;
pub mod moment;
pub mod oci;
pub mod plan;
pub mod prove;
pub mod reload;
pub mod render;
pub mod routing;
pub mod rules;
pub mod sops;
pub mod table;
pub mod talos;
