//! `lab exec`: run a command in a machine.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context as _;

use super::Which;
use crate::lab::Lab;

/// Run a command in a machine of a lab: a node, a router, or the host outside
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ichor lab exec leaf1 -- vtysh -c 'show bgp summary'\n  \
                        ichor lab exec cp1 -- ip route\n  ichor lab exec outside -- ping 198.51.100.1")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: Which,
    /// Name of the machine
    machine: String,
    /// Command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let lab = Lab::open(args.which.lab.as_deref())?;
    let mut command = lab.enter(lab.machine(&args.machine)?);
    let status = command.args(&args.command).status().context("cannot run nsenter")?;
    // A command that a signal ended has no code of its own.
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255)))
}
