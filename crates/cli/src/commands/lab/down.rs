//! `lab down`: end a lab, and everything in it.

use std::io::Write;
use std::process::ExitCode;

use crate::lab::{LabError, Place};

/// End a lab: all its processes, namespaces and files
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the lab; the only one there is when left out
    name: Option<String>,
    /// End every lab
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    for place in places(args)? {
        if !place.end()? {
            return Err(place.absent().into());
        }
        writeln!(out, "{}", place.name())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is to be ended. What is left of a lab that died counts too.
fn places(args: &Args) -> Result<Vec<Place>, LabError> {
    if let Some(name) = &args.name {
        return Ok(vec![Place::of(name)?]);
    }
    let all = Place::all()?;
    match all.len() {
        0 if !args.all => Err(LabError::NoneAtAll),
        2.. if !args.all => Err(LabError::Several(all.iter().map(|place| place.name().to_owned()).collect())),
        _ => Ok(all),
    }
}
