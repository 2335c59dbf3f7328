//! `secrets`: make, take over, hand out, renew and check a cluster's secrets.

mod check;
mod export;
mod import;
mod new;
pub(super) mod place;
mod renew;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Make, import, export, renew and check a cluster's secrets
///
/// A bundle holds everything secret that all machines of a cluster share, in the form of `talosctl gen secrets`. At rest it is
/// encrypted for age recipients in the SOPS format, and so is the administrator's certificate beside it: admin.sops.yaml
/// next to secrets.sops.yaml. Where an ichor.yaml is in the working folder, file, recipients and Talos version come from it.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  age-keygen -o ~/.config/sops/age/keys.txt\n  ichor secrets new --talos v1.13.9 --age age1…\n  \
                  ichor secrets import secrets.yaml --age age1…\n  ichor secrets check\n  ichor secrets renew"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    New(new::Args),
    Import(import::Args),
    Export(export::Args),
    Renew(renew::Args),
    Check(check::Args),
}

/// With what encrypted files are opened
#[derive(Debug, clap::Args)]
struct Key {
    /// File with age identities, in place of SOPS_AGE_KEY, SOPS_AGE_KEY_FILE and ~/.config/sops/age/keys.txt
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::New(args) => new::run(args, out),
        Command::Import(args) => import::run(args, out),
        Command::Export(args) => export::run(args, out),
        Command::Renew(args) => renew::run(args, out),
        Command::Check(args) => check::run(args, out),
    }
}
