//! `extension check`: what Talos would say of a system extension.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use ichor_core::cluster::value::TalosVersion;
use ichor_core::talos::{extension, release};

use super::answer::Answer;
use super::folder;
use crate::commands::talos::known_release;

/// Say what Talos would say of a system extension, and what it would pass over without a word
///
/// An unpacked extension is a folder with manifest.yaml and rootfs. A file is taken for a service definition, of which an
/// extension has one for each service in rootfs/usr/local/etc/containers. Warnings never make an extension invalid: Talos takes it,
/// and it cannot be meant so.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 Talos takes it, 1 Talos refuses it, 2 it could not be read.\n\n\
    Examples:\n  \
    ichor extension check frr --talos v1.13.9\n  \
    ichor extension check frr/rootfs/usr/local/etc/containers/frr.yaml --json")]
pub(crate) struct Args {
    /// Folder of an unpacked extension, or a service definition
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Talos release that is to run it; the newest one ichor knows when left out
    #[arg(long, value_name = "VERSION", value_parser = known_release)]
    talos: Option<TalosVersion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let talos = args.talos.clone().unwrap_or_else(newest);
    let given = args.path.display().to_string();
    let meta = fs::metadata(&args.path).with_context(|| format!("cannot read {given}"))?;
    let verdict = if meta.is_dir() {
        extension::judge(&folder::read(&args.path)?, &talos)
    } else {
        extension::judge_service(&given, &folder::definition(&args.path)?, &talos)
    };
    let valid = verdict.is_valid();
    let answer = Answer { given, is_folder: meta.is_dir(), talos, verdict };
    if args.json {
        writeln!(out, "{:#}", answer.json())?;
    } else {
        answer.tell(out)?;
    }
    Ok(if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn newest() -> TalosVersion {
    let (_, newest) = release::known();
    TalosVersion::parse(&format!("1.{newest}")).expect("a release ichor knows is a version")
}
