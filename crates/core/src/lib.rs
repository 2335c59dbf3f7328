//! Plans, findings and files from a cluster file: every decision of ichor, without side effects.
//!
//! The folders are the flow, left to right: [`cluster`] reads the file as typed, [`model`] resolves it, [`plan`] decides
//! every value, [`routing`] makes the BGP model of nodes and routers, [`prove`] computes the resulting routes, [`render`]
//! writes the files, [`rules`] reports findings, and [`migrate`] compares two plans. [`lab`] is the same fabric on one
//! machine. Operating a cluster: [`machines`], [`bringup`], [`observe`], [`verify`], [`upgrade`], [`reset`], [`teardown`];
//! [`probe`] has the error of a failed probe.

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
