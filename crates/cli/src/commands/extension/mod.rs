//! `extension`: system extensions of Talos.

mod answer;
mod build;
mod check;
mod folder;
mod input;
mod push;

use std::io::Write;
use std::process::ExitCode;

pub(super) use build::{arch, created};

/// Make, judge and push system extensions of Talos
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

/// How a registry is talked to.
#[derive(Debug, clap::Args)]
struct RegistryAccess {
    /// Talk to the registry over HTTP; one on this machine is talked to so anyway
    #[arg(long)]
    insecure: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Build(build::Args),
    Check(check::Args),
    Push(push::Args),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Build(args) => build::run(args, out),
        Verb::Check(args) => check::run(args, out),
        Verb::Push(args) => push::run(args, out),
    }
}
