//! What the tests of `core` have: machines, FRR in them, and a kernel to boot. The lints they expect are that crate's own.
#![allow(dead_code, unfulfilled_lint_expectations, reason = "the files belong to another crate")]

#[path = "../../../core/tests/common/frr.rs"]
pub mod frr;
#[path = "../../../core/tests/common/lab.rs"]
pub mod lab;
#[path = "../../../core/tests/common/vm.rs"]
pub mod vm;
