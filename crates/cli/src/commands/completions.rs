//! `completions`: for the shell.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::Cli;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ichor completions bash > /etc/bash_completion.d/ichor")]
pub(crate) struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    // Made first, written then: the generator takes a closed pipe for a bug.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ichor", &mut text);
    out.write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}
