//! What the agent decides.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "cases are files, and some tests run programs"
)]

mod agent;
