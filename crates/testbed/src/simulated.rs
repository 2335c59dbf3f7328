//! A lab machine as a node of the simulator.

use std::path::PathBuf;
use std::process::Command;

use ichor_simulator::boot::NodeHost;

use crate::lab::LabMachine;

/// The root of a lab machine cannot have another folder, so its `/system` is in one that it has.
impl NodeHost for LabMachine {
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
