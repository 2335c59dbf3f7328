//! Machines, as the tests of `core` have them.
#![allow(
    unfulfilled_lint_expectations,
    dead_code,
    reason = "core's tests may touch less, and use more of it"
)]

#[path = "../../../../core/tests/common/firmware.rs"]
pub mod firmware;
#[path = "../../../../core/tests/common/lab.rs"]
pub mod lab;
#[path = "../../../../core/tests/common/vm.rs"]
pub mod vm;
