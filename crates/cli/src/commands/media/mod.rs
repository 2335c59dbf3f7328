//! `media`: boot media.

mod inspect;
mod json;
mod source;
mod text;

use std::io::Write;
use std::process::ExitCode;

pub(super) use source::Source;

/// Inspect boot media the way Talos reads them
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: MediaCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MediaCommand {
    Inspect(inspect::Args),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        MediaCommand::Inspect(args) => inspect::run(args, out),
    }
}
