//! `talos`: Talos' own formats, without a cluster file.

mod generate;
mod target;

use std::io::Write;
use std::process::ExitCode;

/// Write Talos' own formats, without a cluster file
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Gen(Box<generate::Args>),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Gen(args) => generate::run(args, out),
    }
}
