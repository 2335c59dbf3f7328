//! `lab inside`: any command in the virtual machine of a lab, for whoever looks for a mistake in it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::lab::Place;
use crate::lab::accelerator::Accelerator;
use crate::lab::vm::{self, Wanted};

/// Run a command inside the virtual machine of a lab, which is booted when it is not there
#[derive(Debug, clap::Args)]
#[command(hide = true, disable_version_flag = true)]
pub(crate) struct Args {
    /// Name of the lab
    #[arg(long)]
    lab: String,
    /// What runs the virtual machine's code
    #[arg(long)]
    accel: Option<Accelerator>,
    /// A file that the command writes, and that is wanted here
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// The command
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let wanted = Wanted { machines: 1, content: None, accelerator: args.accel, keep: true };
    Ok(vm::hand_over(&Place::of(&args.lab)?, Some(wanted), args.command.clone(), &args.file)?)
}
