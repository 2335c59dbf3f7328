//! Decides everything ichor does, and touches nothing.
//!
//! The folders are the flow, left to right: [`cluster`] reads the file as typed, [`model`] resolves it, [`plan`] decides
//! every value, [`rules`] judges the result, [`routing`] is what BGP on nodes and routers means, [`prove`] computes what comes
//! of it, [`render`] turns it all into bytes, [`migrate`] compares two of them, and [`reload`] makes running daemons
//! follow. [`agent`] is what the agent on a node decides. [`talos`] holds what is known of Talos itself, [`media`] writes and
//! reads the volumes that it boots with, and [`inspect`] says what it makes of them. [`extension`] makes system extensions, and
//! [`oci`] writes and reads the images they travel in. [`lab`] is the same fabric on one machine, of real daemons, [`bringup`] is the way
//! from the file to a cluster that stands, and [`observe`] says how it is with it.

pub mod agent;
pub mod bringup;
pub mod cluster;
pub mod etcd;
pub mod extension;
pub mod format;
pub mod image;
pub mod inspect;
pub mod kubernetes;
pub mod lab;
mod links;
pub mod machines;
pub mod media;
pub mod migrate;
pub mod model;
pub mod moment;
pub mod observe;
pub mod oci;
pub mod plan;
pub mod prove;
pub mod reload;
pub mod render;
pub mod reset;
pub mod routing;
pub mod rules;
pub mod sops;
pub mod table;
pub mod talos;
pub mod teardown;
pub mod upgrade;
pub mod verify;
