//! Decides everything ichor does.
//!
//! The folders are the flow: [`cluster`] reads the file as typed.

pub mod cluster;
