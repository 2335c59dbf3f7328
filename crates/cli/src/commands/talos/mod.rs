//! `talos`: Talos' own formats, without a cluster file.

mod generate;
mod patch;
mod target;
mod validate;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use ichor_talos::release;
use ichor_values::{TalosVersion, ValueError};

use crate::sealed::{self, OpenError};

/// Write, patch and judge Talos' own formats, without a cluster file
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Example: ichor talos gen home https://10.0.0.20:6443 --talos-version v1.13.9 --secrets secrets.yaml"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Gen(Box<generate::Args>),
    Patch(patch::Args),
    Validate(validate::Args),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Gen(args) => generate::run(args, out),
        Command::Patch(args) => patch::run(args, out),
        Command::Validate(args) => validate::run(args, out),
    }
}

/// Why nothing is judged by the rules of a release.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReleaseError {
    #[error(transparent)]
    Malformed(#[from] ValueError),
    #[error("ichor knows the rules of Talos 1.{oldest} to 1.{newest}")]
    Unknown { oldest: u16, newest: u16 },
}

/// A release whose rules are known: judging by those of another would be a wrong answer.
pub(crate) fn known_release(text: &str) -> Result<TalosVersion, ReleaseError> {
    let talos = TalosVersion::parse(text)?;
    if release::is_known(&talos) {
        return Ok(talos);
    }
    let (oldest, newest) = release::known();
    Err(ReleaseError::Unknown { oldest, newest })
}

/// The text of a file in the clear; `-` is standard input.
fn open(path: &Path, identity: Option<&Path>) -> Result<String, OpenError> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    sealed::open(path, identity).map(|opened| opened.text)
}

/// Standard input is there once.
fn refuse_second_input<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> anyhow::Result<()> {
    let inputs = paths.into_iter().filter(|path| path.as_path() == Path::new("-"));
    if inputs.count() > 1 {
        bail!("standard input can be read once, and `-` stands for it more than once");
    }
    Ok(())
}
