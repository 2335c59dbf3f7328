//! Labs: a cluster's fabric on this machine, in namespaces.
//!
//! The namespaces of a lab belong to an [`init`] process, and those of each machine to an init process of its own
//! ([`machine`]). All processes of a lab end with its init process, and the host's network namespace is never changed.
//! [`registry`] finds labs by name, [`builder`] builds one, and [`switch`] connects its cables. [`collect`] queries the
//! status of a running lab, and [`capture`] captures packets.
//!
//! A node that boots Talos is a [`guest`]: a VM on the same cables, run by an [`accelerator`] and controlled through a
//! [`monitor`]. If the kernel lacks features that a lab needs, the lab runs inside a VM ([`vm`]).
//!
//! [`fabric_test`] tests a lab: it injects a [`fault`], sends [`probe`] packets and compares the [`observation`] with the
//! prediction.

pub(crate) mod accelerator;
pub(crate) mod builder;
pub(crate) mod capture;
pub(crate) mod collect;
pub(crate) mod established;
pub(crate) mod fabric_test;
pub(crate) mod fault;
pub(crate) mod guest;
pub(crate) mod health;
pub(crate) mod host;
pub(crate) mod init;
pub(crate) mod machine;
pub(crate) mod monitor;
pub(crate) mod mounts;
pub(crate) mod observation;
pub(crate) mod probe;
pub(crate) mod record;
pub(crate) mod registry;
pub(crate) mod services;
pub(crate) mod signals;
pub(crate) mod switch;
pub(crate) mod vm;

use std::process::Command;
use std::time::Duration;

use ichor_core::lab::LabTopology;
use ichor_values::nearest;

pub(crate) use record::LabRecord;
pub(crate) use registry::{LabDir, LabError, LockedLabDir};

/// Time limit for a program in a machine, enough with emulation.
const PATIENCE: Duration = Duration::from_mins(5);

/// A running lab.
pub(crate) struct Lab {
    pub dir: LabDir,
    pub record: LabRecord,
}

impl Lab {
    /// Opens the lab of this name, or the only running lab.
    pub(crate) fn open(name: Option<&str>) -> Result<Self, LabError> {
        let dir = match name {
            Some(name) => LabDir::named(name)?,
            None => LabDir::only_running()?,
        };
        if !dir.is_alive() {
            return Err(dir.absent());
        }
        let record = LabRecord::read(&dir)?;
        Ok(Self { dir, record })
    }

    /// The topology of the lab.
    pub(crate) fn topology(&self) -> &LabTopology {
        &self.record.topology
    }

    /// Index of a machine.
    pub(crate) fn machine(&self, name: &str) -> Result<usize, LabError> {
        let machines = &self.topology().machines;
        let nth = machines.iter().position(|machine| machine.name == name);
        nth.ok_or_else(|| {
            let near = nearest(name, machines.iter().map(|machine| machine.name.as_str()));
            LabError::Unknown { name: name.to_owned(), near: near.map(str::to_owned) }
        })
    }

    /// A command that runs a program in a machine; the caller appends the program and its arguments.
    pub(crate) fn enter_netns(&self, machine: usize) -> Command {
        let mut command = Command::new("nsenter");
        let pid = self.record.machine_pids[machine].to_string();
        command.args(["--target", &pid, "--mount", "--net", "--pid", "--uts", "--"]);
        command.env("PATH", machine::PATH);
        command
    }
}
