//! `secrets export`: hand out the bundle as talosctl knows it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;

use super::Key;
use super::place;
use crate::{disk, style, vault};

/// Write the bundle in the clear, as `talosctl gen secrets` does
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ichor secrets export -o - | talosctl gen config sol https://10.0.0.1:6443 \
                        --with-secrets /dev/stdin")]
pub(super) struct Args {
    /// Bundle to read [default: `secrets` of ichor.yaml, else secrets.sops.yaml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// File to write, for your eyes only (mode 0600); `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    key: Key,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let file = place::named_or_here(args.file.as_deref())?;
    let (bundle, _) = vault::place::open(&file, args.key.identity.as_deref())?;
    if args.output == Path::new("-") {
        // Elsewhere a reader who stops reading has seen enough; half a bundle is none.
        let written = out.write_all(bundle.write().as_bytes()).and_then(|()| out.flush());
        if let Err(error) = written {
            bail!("the bundle was not delivered: standard output: {}", disk::reason(&error));
        }
        return Ok(ExitCode::SUCCESS);
    }
    place::refuse_existing(&args.output)?;
    disk::create_private(&args.output, bundle.write().as_bytes())?;
    writeln!(out, "{}", args.output.display())?;
    style::say("in the clear, for your eyes only (mode 0600): remove it when it is no longer needed");
    Ok(ExitCode::SUCCESS)
}
