//! `secrets import`: take over the secrets of a cluster that exists.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_talos::secrets::{Bundle, from_config};

use super::Key;
use super::place::Keeping;
use crate::{sealed, style, vault};

/// Take over the secrets of a cluster that exists
///
/// From a bundle that `talosctl gen secrets` made, or out of the configurations of its control planes. What is missing is said, and
/// then nothing is written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ichor secrets import secrets.yaml --age age1…\n  \
                        ichor secrets import --from-config controlplane.yaml --age age1…")]
pub(super) struct Args {
    /// Bundle to read, in the clear or encrypted
    #[arg(value_name = "FILE", required_unless_present = "from_config", conflicts_with = "from_config")]
    file: Option<PathBuf>,
    /// Control plane configuration to read; several have to agree
    #[arg(long, value_name = "FILE")]
    from_config: Vec<PathBuf>,
    /// File to write [default: `secrets` of ichor.yaml, else secrets.sops.yaml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    keeping: Keeping,
    #[command(flatten)]
    key: Key,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let cluster = args.keeping.cluster(args.output.is_some())?;
    let ready = args.keeping.ready(args.output.as_ref(), &cluster)?;
    let identity = args.key.identity.as_deref();
    let bundle = match &args.file {
        Some(file) => vault::place::open(file, identity)?.0,
        None => agreed(&args.from_config, identity)?,
    };
    ready.write(&bundle, out)?;
    for warning in bundle.warnings(ichor_system::now()) {
        let colour = style::WARNING;
        style::say(&format!("{colour}warning:{colour:#} {} {}", warning.subject, warning.message));
    }
    Ok(ExitCode::SUCCESS)
}

/// The bundle that all configurations hold.
fn agreed(files: &[PathBuf], identity: Option<&Path>) -> anyhow::Result<Bundle> {
    let mut found: Option<Bundle> = None;
    for path in files {
        let text = sealed::open(path, identity)?.text;
        let bundle = from_config(&text).with_context(|| path.display().to_string())?;
        if found.as_ref().is_some_and(|first| *first != bundle) {
            bail!(
                "{} and {} are not of one cluster: their secrets differ",
                files[0].display(),
                path.display()
            );
        }
        found = Some(bundle);
    }
    found.context("no configuration to read")
}
