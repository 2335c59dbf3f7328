//! `completions`: print a completion script for a shell.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::Cli;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ichor completions bash > /etc/bash_completion.d/ichor")]
pub(crate) struct Args {
    /// Shell to complete for
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    // Generated into memory first: the generator panics on a closed pipe.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ichor", &mut text);
    out.write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}
