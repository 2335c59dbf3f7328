//! `talos`: generate, patch and validate Talos configurations, without a cluster file.

mod generate;
mod output;
mod patch;
mod validate;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use ichor_talos::release;
use ichor_values::{TalosVersion, ValueError};

use crate::encrypted_file::{self, DecryptError};

/// Generate, patch and validate Talos machine configurations
///
/// These commands need no cluster file.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Example: ichor talos gen home https://10.0.0.20:6443 --talos-version v1.13.9 --secrets secrets.yaml"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: TalosCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TalosCommand {
    Gen(Box<generate::Args>),
    Patch(patch::Args),
    Validate(validate::Args),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        TalosCommand::Gen(args) => generate::run(args, out),
        TalosCommand::Patch(args) => patch::run(args, out),
        TalosCommand::Validate(args) => validate::run(args, out),
    }
}

/// Why a Talos release is not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReleaseError {
    #[error(transparent)]
    Malformed(#[from] ValueError),
    #[error("unsupported release; ichor has the rules of Talos 1.{oldest} to 1.{newest}")]
    Unknown { oldest: u16, newest: u16 },
}

/// Parses a release whose validation rules are known.
pub(crate) fn known_release(text: &str) -> Result<TalosVersion, ReleaseError> {
    let talos = TalosVersion::parse(text)?;
    if release::is_known(&talos) {
        return Ok(talos);
    }
    let (oldest, newest) = release::known_releases();
    Err(ReleaseError::Unknown { oldest, newest })
}

/// Reads a file and decrypts it if needed; `-` is standard input.
fn read_decrypted(path: &Path, identity: Option<&Path>) -> Result<String, DecryptError> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    encrypted_file::open(path, identity).map(|opened| opened.text)
}

/// Refuses `-` more than once: standard input can be read only once.
fn refuse_second_input<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> anyhow::Result<()> {
    let inputs = paths.into_iter().filter(|path| path.as_path() == Path::new("-"));
    if inputs.count() > 1 {
        bail!("standard input can be read only once; pass `-` once");
    }
    Ok(())
}
