//! `extension`: Talos system extensions.

mod build;
mod check;
mod folder;
mod input;
mod push;
mod report;

use std::io::Write;
use std::process::ExitCode;

pub(super) use build::{arch, created};

/// Build, check and push Talos system extensions
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ExtensionCommand,
}

/// How to connect to a registry.
#[derive(Debug, clap::Args)]
struct RegistryAccess {
    /// Use HTTP instead of HTTPS; a registry on localhost always uses HTTP
    #[arg(long)]
    insecure: bool,
}

#[derive(Debug, clap::Subcommand)]
enum ExtensionCommand {
    Build(build::Args),
    Check(check::Args),
    Push(push::Args),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        ExtensionCommand::Build(args) => build::run(args, out),
        ExtensionCommand::Check(args) => check::run(args, out),
        ExtensionCommand::Push(args) => push::run(args, out),
    }
}
