//! `talos`: Talos' own formats, without a cluster file.

mod generate;
mod patch;
mod target;
mod validate;

use std::io::Write;
use std::process::ExitCode;

use ichor_core::cluster::value::TalosVersion;
use ichor_core::talos::release;

use crate::style;

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

/// A release whose rules are known: judging by those of another would be a wrong answer.
fn known_release(text: &str) -> Result<TalosVersion, String> {
    let talos = TalosVersion::parse(text)?;
    if release::is_known(&talos) {
        return Ok(talos);
    }
    let (oldest, newest) = release::known();
    Err(format!("ichor knows the rules of Talos 1.{oldest} to 1.{newest}"))
}

/// Tells why the answer is no.
fn reported(reasons: impl IntoIterator<Item = String>) -> ExitCode {
    for reason in reasons {
        style::say(&format!("{}error:{} {reason}", style::ERROR, style::ERROR.render_reset()));
    }
    ExitCode::FAILURE
}
