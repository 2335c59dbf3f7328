//! What the tests of `core` have to boot a kernel. What is expected of it there, that crate's own watch, is not looked at here.
#![allow(dead_code, unfulfilled_lint_expectations, reason = "the files belong to another crate")]

#[path = "../../../core/tests/common/lab.rs"]
pub mod lab;
#[path = "../../../core/tests/common/vm.rs"]
pub mod vm;
