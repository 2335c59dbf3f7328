//! `extension`: system extensions of Talos.

mod answer;
mod check;
mod folder;

use std::io::Write;
use std::process::ExitCode;

/// Judge system extensions of Talos
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Check(check::Args),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Check(args) => check::run(args, out),
    }
}
