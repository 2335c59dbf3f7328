//! `extension check`: what Talos would say of a system extension.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use ichor_image::oci::{Archive, Image, LAYOUT, Source};
use ichor_talos::extension;
use ichor_talos::extension::Verdict;
use ichor_talos::release;
use ichor_values::TalosVersion;

use super::answer::{Answer, Form};
use super::folder;
use crate::argument::Format;
use crate::commands::talos::known_release;
use crate::oci::{Disk, Place, archive};

/// Say what Talos would say of a system extension, and what it would pass over without a word
///
/// An unpacked extension is a folder with manifest.yaml and rootfs, or a tar archive of one. Its image is an OCI layout or an OCI archive, as
/// `ichor extension build` writes it. Any other file is taken for a service definition, of which an extension has one for each service in
/// rootfs/usr/local/etc/containers. Warnings never make an extension invalid: Talos takes it,
/// and it cannot be meant so.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 Talos takes it, 1 Talos refuses it, 2 it could not be read.\n\n\
    Examples:\n  \
    ichor extension check frr --talos v1.13.9\n  \
    ichor extension check frr.tar\n  \
    ichor extension check frr/rootfs/usr/local/etc/containers/frr.yaml --json")]
pub(crate) struct Args {
    /// Folder of an unpacked extension, its image, or a service definition
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Talos release that is to run it; the newest one ichor knows when left out
    #[arg(long, value_name = "VERSION", value_parser = known_release)]
    talos: Option<TalosVersion>,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let talos = args.talos.clone().unwrap_or_else(newest);
    let given = args.path.display().to_string();
    let meta = fs::metadata(&args.path).with_context(|| format!("cannot read {given}"))?;
    let (form, verdict) = if meta.is_dir() && !args.path.join(LAYOUT).is_file() {
        (Form::Folder, extension::judge(&folder::read(&args.path)?, &talos))
    } else if meta.is_dir() || folder::is_archive(&args.path)? {
        (Form::Image, image(&given, &talos).with_context(|| format!("cannot check the image {given}"))?)
    } else {
        (Form::Service, extension::judge_service(&given, &folder::text(&args.path)?, &talos))
    };
    let valid = verdict.is_valid();
    let answer = Answer { given, form, talos, verdict };
    if args.format.json {
        writeln!(out, "{:#}", answer.json())?;
    } else {
        answer.tell(out)?;
    }
    Ok(if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a release says of the image of an extension; where it is for several architectures, of the first that is not flawless.
fn image(given: &str, talos: &TalosVersion) -> anyhow::Result<Verdict> {
    let mut spool = Disk::new()?;
    let mut source: Box<dyn Source> = match Place::parse(given)? {
        Place::File(path) => match archive(&path)? {
            Archive::Extension(root) => return Ok(ichor_image::extension::judge(&root, talos)?),
            Archive::Layout(unpacked) => Box::new(unpacked),
        },
        place => place.open(false)?,
    };
    let images = Image::all(&mut *source)?;
    if images.is_empty() {
        bail!("there is no image for amd64 or arm64 in it");
    }
    let mut verdict = Verdict::default();
    for image in images {
        let root = image.unpack(&mut *source, &mut spool, &|| {})?;
        verdict = ichor_image::extension::judge(&root, talos)?;
        if verdict != Verdict::default() {
            break;
        }
    }
    Ok(verdict)
}

fn newest() -> TalosVersion {
    let (_, newest) = release::known();
    TalosVersion::parse(&format!("1.{newest}")).expect("a release ichor knows is a version")
}
