//! `lab hold`: the processes that hold a lab, which nobody starts but `lab up`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use crate::lab::{Place, hold, machine};

/// Hold the namespaces of a lab, or of one of its machines
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of the lab
    place: PathBuf,
    /// Number of the machine
    #[arg(long)]
    machine: Option<usize>,
    /// Be the first process of the namespaces, which are there
    #[arg(long)]
    first: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let place = Place::at(args.place.clone());
    match (args.first, args.machine) {
        (false, machine) => hold::begin(&args.place, machine).context("cannot make namespaces")?,
        (true, None) => hold::lab(&place)?,
        (true, Some(nth)) => machine::first(&place, nth)?,
    }
    Ok(ExitCode::SUCCESS)
}
