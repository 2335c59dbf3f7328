//! What the tests of `core` have: machines, FRR in them, and a kernel to boot. The lints they expect are that crate's own.
#![allow(dead_code, unfulfilled_lint_expectations, reason = "the files belong to another crate")]

pub use ichor_testbed::frr;
pub use ichor_testbed::lab;
pub use ichor_testbed::vm;
