//! `secrets new`: create the secrets of a new cluster.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_talos::release;
use ichor_talos::secrets::Bundle;
use ichor_values::TalosVersion;
use rand_core::OsRng;

use super::storage::{SecretsSettings, StorageOptions};
use crate::progress::Progress;

/// Create the secrets of a new cluster and the administrator's certificate
///
/// Existing files are never overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ichor secrets new --talos v1.13.9 --age \
                        age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p")]
pub(super) struct Args {
    /// File to write
    ///
    /// [default: `secrets` of ichor.yaml, or secrets.sops.yaml, or with --plain secrets.yaml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Talos release of the cluster [default: the oldest of ichor.yaml]
    #[arg(long, value_name = "VERSION")]
    talos: Option<String>,
    #[command(flatten)]
    storage: StorageOptions,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let cluster = args.storage.settings(args.file.is_some() && args.talos.is_some())?;
    let contract = contract(args.talos.as_deref(), &cluster)?;
    let ready = args.storage.prepare(args.file.as_ref(), &cluster)?;
    let progress = Progress::start("generating keys");
    let bundle = Bundle::new(&contract, &mut OsRng, ichor_system::now())?;
    drop(progress);
    ready.write(&bundle, out)?;
    Ok(ExitCode::SUCCESS)
}

fn contract(named: Option<&str>, cluster: &SecretsSettings) -> anyhow::Result<TalosVersion> {
    let contract = match named {
        Some(text) => TalosVersion::parse(text)
            .map_err(anyhow::Error::msg)
            .with_context(|| format!("--talos {text}; want a release such as v1.13.9"))?,
        None => cluster
            .talos
            .clone()
            .context("unknown Talos release; pass --talos VERSION, such as --talos v1.13.9")?,
    };
    let (_, newest) = release::known_releases();
    if contract.minor() > (1, newest) {
        bail!("Talos {contract} is not supported; the newest supported release is 1.{newest}");
    }
    Ok(contract)
}
