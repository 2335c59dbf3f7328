//! `talos`: Talos' own formats, without a cluster file.

mod generate;
mod target;

use std::io::Write;
use std::process::ExitCode;

/// Write Talos' own formats, without a cluster file
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Example: ichor talos gen home https://10.0.0.20:6443 --talos-version v1.13.9 --secrets secrets.yaml"
)]
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
