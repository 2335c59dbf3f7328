//! `secrets import`: import the secrets of an existing cluster.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_talos::secrets::{Bundle, from_config};

use super::Key;
use super::storage::StorageOptions;
use crate::{cluster_secrets, encrypted_file, style};

/// Import the secrets of an existing cluster
///
/// The source is a bundle of `talosctl gen secrets`, or the machine configurations of the control planes. If a secret is missing, the
/// command reports it and writes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ichor secrets import secrets.yaml --age age1…\n  \
                        ichor secrets import --from-config controlplane.yaml --age age1…")]
pub(super) struct Args {
    /// Secrets bundle to import, encrypted or not
    #[arg(value_name = "FILE", required_unless_present = "from_config", conflicts_with = "from_config")]
    file: Option<PathBuf>,
    /// Control plane configuration to import from (repeatable)
    ///
    /// The secrets of all files must be the same.
    #[arg(long, value_name = "FILE")]
    from_config: Vec<PathBuf>,
    /// File to write
    ///
    /// [default: `secrets` of ichor.yaml, or secrets.sops.yaml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    storage: StorageOptions,
    #[command(flatten)]
    key: Key,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let cluster = args.storage.settings(args.output.is_some())?;
    let ready = args.storage.prepare(args.output.as_ref(), &cluster)?;
    let identity = args.key.identity.as_deref();
    let bundle = match &args.file {
        Some(file) => cluster_secrets::bundle_file::open(file, identity)?.0,
        None => common_secrets(&args.from_config, identity)?,
    };
    ready.write(&bundle, out)?;
    for warning in bundle.warnings(ichor_system::now()) {
        let colour = style::WARNING;
        style::say(&format!("{colour}warning:{colour:#} {} {}", warning.subject, warning.message));
    }
    Ok(ExitCode::SUCCESS)
}

/// The common secrets of all configurations.
fn common_secrets(files: &[PathBuf], identity: Option<&Path>) -> anyhow::Result<Bundle> {
    let mut found: Option<Bundle> = None;
    for path in files {
        let text = encrypted_file::open(path, identity)?.text;
        let bundle = from_config(&text).with_context(|| path.display().to_string())?;
        if found.as_ref().is_some_and(|first| *first != bundle) {
            bail!(
                "{} and {} are of different clusters: their secrets differ",
                files[0].display(),
                path.display()
            );
        }
        found = Some(bundle);
    }
    found.context("no configuration to read")
}
