//! `secrets`: create, import, export, renew and check a cluster's secrets.

mod check;
mod export;
mod import;
mod new;
mod renew;
pub(super) mod storage;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Create, import, export, renew and check a cluster's secrets
///
/// A secrets bundle has all secrets that the machines of a cluster share, in the format of `talosctl gen secrets`. It is stored
/// encrypted for age recipients in the SOPS format, together with the administrator's certificate: secrets.sops.yaml and
/// admin.sops.yaml. If the working folder has an ichor.yaml, it sets the default file, recipients and Talos version.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  age-keygen -o ~/.config/sops/age/keys.txt\n  ichor secrets new --talos v1.13.9 --age age1…\n  \
                  ichor secrets import secrets.yaml --age age1…\n  ichor secrets check\n  ichor secrets renew"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: SecretsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SecretsCommand {
    New(new::Args),
    Import(import::Args),
    Export(export::Args),
    Renew(renew::Args),
    Check(check::Args),
}

/// The age identities that decrypt files
#[derive(Debug, clap::Args)]
struct Key {
    /// File with the age identities that decrypt secrets
    ///
    /// [default: the identities of SOPS: $SOPS_AGE_KEY, $SOPS_AGE_KEY_FILE or ~/.config/sops/age/keys.txt]
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        SecretsCommand::New(args) => new::run(args, out),
        SecretsCommand::Import(args) => import::run(args, out),
        SecretsCommand::Export(args) => export::run(args, out),
        SecretsCommand::Renew(args) => renew::run(args, out),
        SecretsCommand::Check(args) => check::run(args, out),
    }
}
