//! The same random cases for talosctl and for ichor, whose answers must be the same.
//!
//! [`generate`], [`patch`] and [`validate`] are the jobs; each has a test for each release. [`judge`] runs the cases of a job,
//! [`program`] starts talosctl. Cases are trees of raw YAML ([`tree`]), grown and changed ([`growth`], [`mutation`]) by the types of
//! the release ([`types`]) with likely and unlikely words ([`words`]).

mod corpus;

mod generate;
mod growth;
mod judge;
mod mutation;
mod patch;

mod program;
mod random;
mod tree;
mod types;
mod validate;
mod words;

/// A test of a job for each release.
macro_rules! for_each_release {
    ($($name:ident: $minor:literal),* $(,)?) => { $(#[test] fn $name() { judge_release($minor); })* };
}
use for_each_release;
