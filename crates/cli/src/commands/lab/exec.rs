//! `lab exec`: run a command in a machine of a lab.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_core::lab::topology::MachineRole;

use super::LabSelection;
use crate::lab::Lab;
use crate::lab::machine::TALOSCONFIG;

/// Run a command in a node, in a router or on the outside host of a lab
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ichor lab exec leaf1 -- vtysh -c 'show bgp summary'\n  \
                        ichor lab exec cp1 -- ip route\n  ichor lab exec outside -- ping 198.51.100.1")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: LabSelection,
    /// Name of a node or router, or `outside`
    #[arg(value_name = "MACHINE")]
    machine: String,
    /// Command to run, with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let lab = Lab::open(args.which.lab.as_deref())?;
    let nth = lab.machine(&args.machine)?;
    if matches!(lab.topology().machines[nth].part, MachineRole::Guest(_)) {
        bail!(
            "cannot run a command in {name}: it is a virtual machine with Talos; its console is in {}, and talosctl reaches it with \
             `ichor lab exec outside -- talosctl --talosconfig {TALOSCONFIG} --nodes ADDRESS`",
            lab.dir.log(&args.machine).display(),
            name = args.machine
        );
    }
    let mut command = lab.enter_netns(nth);
    let status = command.args(&args.command).status().context("cannot run nsenter")?;
    // A command that was killed by a signal has no exit status.
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255)))
}
