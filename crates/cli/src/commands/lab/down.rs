//! `lab down`: end labs.

use std::io::Write;
use std::process::ExitCode;

use crate::lab::{LabDir, LabError};

/// End a lab and remove its processes, namespaces and files
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the lab [default: the only lab]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// End every lab
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    for dir in dirs(args)? {
        if !dir.end()? {
            return Err(dir.absent().into());
        }
        writeln!(out, "{}", dir.name())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The labs to end, including the remains of labs that crashed.
fn dirs(args: &Args) -> Result<Vec<LabDir>, LabError> {
    if let Some(name) = &args.name {
        return Ok(vec![LabDir::named(name)?]);
    }
    let all = LabDir::all()?;
    match all.len() {
        0 if !args.all => Err(LabError::NoneAtAll),
        2.. if !args.all => Err(LabError::Several(all.iter().map(|dir| dir.name().to_owned()).collect())),
        _ => Ok(all),
    }
}
