//! `lab inside`: run a command in the virtual machine of a lab, to debug it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::lab::LabDir;
use crate::lab::accelerator::Accelerator;
use crate::lab::vm::{self, VmRequest};

/// Run a command inside the virtual machine of a lab, booting it if needed
#[derive(Debug, clap::Args)]
#[command(hide = true, disable_version_flag = true)]
pub(crate) struct Args {
    /// Name of the lab
    #[arg(long)]
    lab: String,
    /// Accelerator of the virtual machine
    #[arg(long)]
    accel: Option<Accelerator>,
    /// File that the command writes, to copy to this host (repeatable)
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Command to run, with its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let wanted = VmRequest { machines: 1, content: None, accelerator: args.accel, keep: true };
    Ok(vm::run_in_vm(&LabDir::named(&args.lab)?, Some(wanted), args.command.clone(), &args.file)?)
}
