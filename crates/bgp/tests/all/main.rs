//! Tests of the agent's configuration and decisions.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "cases are files, and some tests run programs"
)]

mod agent;
mod agent_config;
mod agent_status;

use std::path::{Path, PathBuf};

/// The folder `tests/NAME` of this crate.
fn tests(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The files and folders in `tests/NAME`, in order.
fn cases(name: &str) -> Vec<PathBuf> {
    let mut cases: Vec<_> =
        std::fs::read_dir(tests(name)).unwrap().map(|case| case.unwrap().path()).collect();
    cases.sort();
    cases
}
