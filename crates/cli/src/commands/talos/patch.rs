//! `talos patch`: a machine configuration with patches applied.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ichor_talos::patch;
use ichor_talos::patch::Patch;
use ichor_values::TalosVersion;
use ichor_values::go_yaml::emit::emit_all;

use super::{open, refuse_second_input};
use crate::disk;
use crate::refused::Refused;

/// Print a machine configuration with patches applied
///
/// A patch is a file of documents to merge, which may delete with `$patch: delete`, or a list of operations of RFC 6902, in
/// YAML or JSON; patches encrypted with SOPS are opened. They are applied in their order, by the rules of the Talos
/// release. Where Talos would lose a value without a word, that is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ichor talos patch controlplane.yaml vip.yaml\n  \
    ichor talos patch worker.yaml disk.yaml labels.yaml --talos 1.13 -o worker-7.yaml")]
pub(crate) struct Args {
    /// Machine configuration, - for standard input
    file: PathBuf,
    /// Patches, in the order they are applied, - for standard input
    #[arg(required = true)]
    patches: Vec<PathBuf>,
    /// Talos release whose rules count
    #[arg(long, value_name = "VERSION", value_parser = super::known_release, default_value = "1.12")]
    talos: TalosVersion,
    /// File with age identities that open encrypted patches, in place of those SOPS would use
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// File to write, for nobody else to read, in the place of one that exists; standard output when left out
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    refuse_second_input(std::iter::once(&args.file).chain(&args.patches))?;
    let read = |path: &Path| open(path, args.identity.as_deref());
    let base = read(&args.file)?;
    let mut patches = Vec::new();
    let mut refused = Vec::new();
    for path in &args.patches {
        match Patch::read(&path.display().to_string(), &read(path)?, &args.talos) {
            Ok(patch) => patches.push(patch),
            Err(error) => refused.push(error.to_string()),
        }
    }
    if !refused.is_empty() {
        return Err(Refused::Reasons(refused).into());
    }
    let documents = patch::apply(&base, &patches, &args.talos).map_err(|error| Refused::reasons([error]))?;
    let text = emit_all(&documents);
    match &args.output {
        Some(path) => disk::replace_private(path, text.as_bytes())?,
        None => out.write_all(text.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}
