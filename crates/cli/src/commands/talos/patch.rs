//! `talos patch`: apply patches to a machine configuration.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ichor_talos::patch;
use ichor_talos::patch::Patch;
use ichor_values::TalosVersion;
use ichor_values::go_yaml::emit::emit_all;

use super::{read_decrypted, refuse_second_input};
use crate::disk;
use crate::refusal::Refusal;

/// Apply patches to a machine configuration and print the result
///
/// A patch is a file with documents to merge, which may delete with `$patch: delete`, or a list of JSON Patch operations (RFC 6902), in
/// YAML or JSON. Patches encrypted with SOPS are decrypted. They are applied in order, with the rules of the Talos release. A value
/// that Talos would drop silently is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ichor talos patch controlplane.yaml vip.yaml\n  \
    ichor talos patch worker.yaml disk.yaml labels.yaml --talos 1.13 -o worker-7.yaml")]
pub(crate) struct Args {
    /// Machine configuration; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Patches, in order of application; - is standard input
    #[arg(required = true, value_name = "PATCH")]
    patches: Vec<PathBuf>,
    /// Talos release whose rules apply
    #[arg(long, value_name = "VERSION", value_parser = super::known_release, default_value = "1.12")]
    talos: TalosVersion,
    /// File with the age identities that decrypt patches
    ///
    /// [default: the identities of SOPS: $SOPS_AGE_KEY, $SOPS_AGE_KEY_FILE or ~/.config/sops/age/keys.txt]
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// File to write with mode 0600 [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    refuse_second_input(std::iter::once(&args.file).chain(&args.patches))?;
    let read = |path: &Path| read_decrypted(path, args.identity.as_deref());
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
        return Err(Refusal::Reasons(refused).into());
    }
    let documents = patch::apply(&base, &patches, &args.talos).map_err(|error| Refusal::reasons([error]))?;
    let text = emit_all(&documents);
    match &args.output {
        Some(path) => disk::replace_private(path, text.as_bytes())?,
        None => out.write_all(text.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}
