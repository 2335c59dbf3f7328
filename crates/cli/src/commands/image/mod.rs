//! `image`: bootable media and installers of one's own.

mod answer;
mod build;
mod make;
mod recipe;
mod shelf;

use std::io::Write;
use std::process::ExitCode;

/// Make images that machines boot and install, with extensions inside
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Build(Box<build::Args>),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Build(args) => build::run(args, out),
    }
}
