//! What a plan is turned into: text and pictures, as bytes that depend on nothing else.
//!
//! [`topology`] draws the cluster for people.

pub mod topology;
