//! `image`: build boot media and installers.

mod build;
mod extensions;
mod product;
mod recipe;
mod report;

use std::io::Write;
use std::process::ExitCode;

/// Build boot images and installers with extensions
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ImageCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ImageCommand {
    Build(Box<build::Args>),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        ImageCommand::Build(args) => build::run(args, out),
    }
}
