//! Machines, as the tests of `core` have them.
#![allow(
    unfulfilled_lint_expectations,
    dead_code,
    reason = "core's tests may touch less, and use more of it"
)]

#[path = "../../../core/tests/common/lab.rs"]
pub mod lab;
#[path = "../../../core/tests/common/libvirt.rs"]
pub mod libvirt;
#[path = "../../../core/tests/common/vm.rs"]
pub mod vm;
