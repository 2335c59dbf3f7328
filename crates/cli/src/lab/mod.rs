//! Labs: a cluster's fabric on this machine, in namespaces.
//!
//! A lab is a process that holds namespaces: [`hold`] is that process, and one of the same kind in each machine ([`machine`]).
//! All processes of a lab end with its holder, and nothing is ever made in the network of whoever starts it. [`place`] is where
//! labs are known by their names, [`build`] brings one up, [`hub`] is what its cables are plugged into. [`ask`] asks a lab that
//! runs how it is, and [`capture`] keeps its packets.
//! A node that boots Talos itself is a [`guest`], a virtual machine on the same cables; [`accelerator`] is what runs its code, and [`monitor`]
//! the way to it.
//! Where the kernel cannot do what a lab needs, the same happens in a virtual machine ([`vm`]).
//!
//! A lab is put to the test by a [`trial`]: a [`fault`] is something that fails, a [`probe`] sends packets all the while, and
//! [`observed`] is what is to be seen.

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

/// How long a program in a machine may take to answer; where all is emulated that is long.
const PATIENCE: Duration = Duration::from_mins(5);

/// A lab that runs.
pub(crate) struct Lab {
    pub place: LabDir,
    pub record: LabRecord,
}

impl Lab {
    /// The lab of a name; without one, the only lab there is.
    pub(crate) fn open(name: Option<&str>) -> Result<Self, LabError> {
        let place = match name {
            Some(name) => LabDir::named(name)?,
            None => LabDir::only_running()?,
        };
        if !place.is_alive() {
            return Err(place.absent());
        }
        let record = LabRecord::read(&place)?;
        Ok(Self { place, record })
    }

    /// What was built.
    pub(crate) fn scene(&self) -> &LabTopology {
        &self.record.scene
    }

    /// The number of a machine.
    pub(crate) fn machine(&self, name: &str) -> Result<usize, LabError> {
        let machines = &self.scene().machines;
        let nth = machines.iter().position(|machine| machine.name == name);
        nth.ok_or_else(|| {
            let near = nearest(name, machines.iter().map(|machine| machine.name.as_str()));
            LabError::Unknown { name: name.to_owned(), near: near.map(str::to_owned) }
        })
    }

    /// The start of a command in a machine: what follows is the program and its arguments.
    pub(crate) fn enter_netns(&self, machine: usize) -> Command {
        let mut command = Command::new("nsenter");
        let pid = self.record.machines[machine].to_string();
        command.args(["--target", &pid, "--mount", "--net", "--pid", "--uts", "--"]);
        command.env("PATH", machine::PATH);
        command
    }
}
