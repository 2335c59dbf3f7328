//! `lab hold`: the init processes of a lab, started by `lab up`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use crate::lab::{LabDir, init, machine};

/// Run the init process of a lab or of one of its machines (internal)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of the lab
    place: PathBuf,
    /// Number of the machine
    #[arg(long)]
    machine: Option<usize>,
    /// Run as PID 1 of existing namespaces
    #[arg(long)]
    first: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dir = LabDir::from_path(args.place.clone());
    match (args.first, args.machine) {
        (false, machine) => init::spawn(&args.place, machine).context("cannot create namespaces")?,
        (true, None) => init::run_lab(&dir)?,
        (true, Some(nth)) => machine::run(&dir, nth)?,
    }
    Ok(ExitCode::SUCCESS)
}
