//! `media`: what machines boot from.

mod inspect;
mod json;
mod source;
mod text;

use std::io::Write;
use std::process::ExitCode;

pub(super) use source::Source;

/// Look at what machines boot from, the way Talos does
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Inspect(inspect::Args),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Inspect(args) => inspect::run(args, out),
    }
}
