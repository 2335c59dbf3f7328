//! From the cluster file to plans, findings and files; every decision of ichor, nothing touched.
//!
//! The folders are the flow, left to right: [`cluster`] reads the file as typed, [`model`] resolves it, [`plan`] decides
//! every value, [`routing`] makes the BGP of nodes and routers of it, [`prove`] computes what follows, [`render`] turns it
//! into bytes, [`rules`] reports findings about all of it, and [`migrate`] compares two plans. [`lab`] is the same fabric on
//! one machine. Operating a cluster: [`machines`], [`bringup`], [`observe`], [`verify`], [`upgrade`], [`reset`], [`teardown`];
//! [`probe`] is why something about a running cluster is not known.

pub mod bringup;
pub mod cluster;
pub mod etcd;
pub mod lab;
pub mod machines;
pub mod migrate;
pub mod model;
pub mod observe;
pub mod plan;
pub mod probe;
pub mod prove;
pub mod render;
pub mod reset;
pub mod routing;
pub mod rules;
pub mod table;
pub mod teardown;
pub mod upgrade;
pub mod verify;
