//! Machines for real daemons, as the tests of `core` have them.
#![allow(
    unfulfilled_lint_expectations,
    dead_code,
    reason = "core's tests may touch less, and use more of it"
)]

use std::path::PathBuf;
use std::process::Command;

use ichor_simulator::Node;

#[path = "../../../core/tests/common/frr.rs"]
pub mod frr;
#[path = "../../../core/tests/common/lab.rs"]
pub mod lab;
#[path = "../../../core/tests/common/vm.rs"]
pub mod vm;

/// The root of a lab machine cannot have another folder, so its `/system` is in one that it has.
impl Node for lab::Machine {
    fn enter(&self) -> Command {
        self.enter()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.path(path)
    }

    fn system(&self) -> &'static str {
        "/tmp/system"
    }
}
