//! `secrets export`: write the bundle unencrypted for talosctl.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;

use super::Key;
use super::storage;
use crate::{cluster_secrets, disk, style};

/// Write the secrets bundle unencrypted, as `talosctl gen secrets` does
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ichor secrets export -o - | talosctl gen config sol https://10.0.0.1:6443 \
                        --with-secrets /dev/stdin")]
pub(super) struct Args {
    /// Secrets bundle to read
    ///
    /// [default: `secrets` of ichor.yaml, or secrets.sops.yaml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// File to write with mode 0600; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    key: Key,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let file = storage::bundle_path(args.file.as_deref())?;
    let (bundle, _) = cluster_secrets::bundle_file::open(&file, args.key.identity.as_deref())?;
    if args.output == Path::new("-") {
        // Unlike other commands, a closed pipe is an error here: a truncated bundle is useless.
        let written = out.write_all(bundle.write().as_bytes()).and_then(|()| out.flush());
        if let Err(error) = written {
            bail!("cannot write the bundle to standard output: {}", disk::io_reason(&error));
        }
        return Ok(ExitCode::SUCCESS);
    }
    storage::refuse_existing(&args.output)?;
    disk::create_private(&args.output, bundle.write().as_bytes())?;
    writeln!(out, "{}", args.output.display())?;
    style::say("not encrypted (mode 0600); delete it when it is no longer needed");
    Ok(ExitCode::SUCCESS)
}
