//! Machines for real daemons, as the tests of `core` have them.
#![allow(
    unfulfilled_lint_expectations,
    dead_code,
    reason = "core's tests may touch less, and use more of it"
)]

pub use ichor_testbed::frr;
pub use ichor_testbed::lab;
