//! `extension check`: validate a system extension with Talos' rules.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use ichor_image::oci::{Archive, BlobSource, LAYOUT, OciImage};
use ichor_talos::extension;
use ichor_talos::extension::Verdict;
use ichor_talos::release;
use ichor_values::TalosVersion;

use super::folder;
use super::report::{CheckReport, InputForm};
use crate::argument::OutputFormat;
use crate::commands::talos::known_release;
use crate::oci::{ImageLocation, TempFileStore, archive};

/// Validate a system extension and report what Talos silently ignores
///
/// PATH is an unpacked extension (a folder with manifest.yaml and rootfs, or a tar archive of it), an extension image (an OCI layout
/// or OCI archive, as written by `ichor extension build`), or a service definition from rootfs/usr/local/etc/containers. Warnings are
/// mistakes that Talos accepts; they never make an extension invalid.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 Talos accepts the extension, 1 Talos rejects it, 2 it cannot be\nread.\n\n\
    Examples:\n  \
    ichor extension check frr --talos v1.13.9\n  \
    ichor extension check frr.tar\n  \
    ichor extension check frr/rootfs/usr/local/etc/containers/frr.yaml --json"
)]
pub(crate) struct Args {
    /// Unpacked extension, extension image or service definition
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Talos release that runs it [default: the newest supported release]
    #[arg(long, value_name = "VERSION", value_parser = known_release)]
    talos: Option<TalosVersion>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let talos = args.talos.clone().unwrap_or_else(newest);
    let given = args.path.display().to_string();
    let meta = fs::metadata(&args.path).with_context(|| format!("cannot read {given}"))?;
    let (form, verdict) = if meta.is_dir() && !args.path.join(LAYOUT).is_file() {
        (InputForm::Folder, extension::check_extension(&folder::read(&args.path)?, &talos))
    } else if meta.is_dir() || folder::is_archive(&args.path)? {
        (
            InputForm::Image,
            check_image(&given, &talos).with_context(|| format!("cannot check the image {given}"))?,
        )
    } else {
        (InputForm::Service, extension::judge_service(&given, &folder::text(&args.path)?, &talos))
    };
    let valid = verdict.is_valid();
    let report = CheckReport { given, form, talos, verdict };
    if args.format.json {
        writeln!(out, "{:#}", report.json())?;
    } else {
        report.print(out)?;
    }
    Ok(if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Validates an extension image; of several architectures, reports the first with a problem or warning.
fn check_image(given: &str, talos: &TalosVersion) -> anyhow::Result<Verdict> {
    let mut spool = TempFileStore::new()?;
    let mut source: Box<dyn BlobSource> = match ImageLocation::parse(given)? {
        ImageLocation::File(path) => match archive(&path)? {
            Archive::Extension(root) => return Ok(ichor_image::extension::validate(&root, talos)?),
            Archive::Layout(unpacked) => Box::new(unpacked),
        },
        place => place.open(false)?,
    };
    let images = OciImage::all(&mut *source)?;
    if images.is_empty() {
        bail!("no image for amd64 or arm64");
    }
    let mut verdict = Verdict::default();
    for image in images {
        let root = image.unpack(&mut *source, &mut spool, &|| {})?;
        verdict = ichor_image::extension::validate(&root, talos)?;
        if verdict != Verdict::default() {
            break;
        }
    }
    Ok(verdict)
}

fn newest() -> TalosVersion {
    let (_, newest) = release::known_releases();
    TalosVersion::parse(&format!("1.{newest}")).expect("a release ichor knows is a version")
}
