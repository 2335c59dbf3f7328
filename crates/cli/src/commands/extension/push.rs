//! `extension push`: push an image to a registry.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_image::oci::{ImageUpload, Reference};
use serde_json::json;

use super::RegistryAccess;
use crate::argument::OutputFormat;
use crate::oci::{ImageLocation, Registry};
use crate::progress::Progress;
use crate::style;

/// Push an image to a registry
///
/// Manifests are pushed unchanged, so that the digest in the registry is that of the layout. Existing blobs are skipped. Credentials come
/// from $REGISTRY_AUTH_FILE, or from the files of docker, podman and skopeo.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 pushed, 2 the push failed.\n\n\
    Examples:\n  \
    ichor extension push frr.tar ghcr.io/me/frr:10.5.1\n  \
    ichor extension push frr localhost:5000/frr:10.5.1 --json")]
pub(crate) struct Args {
    /// OCI layout or archive to push
    #[arg(value_name = "LAYOUT|ARCHIVE")]
    image: String,
    /// Reference to push to, such as ghcr.io/me/frr:10.5.1
    #[arg(value_name = "REFERENCE")]
    reference: String,
    #[command(flatten)]
    registry: RegistryAccess,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let reference = Reference::parse(&args.reference)?;
    let place = ImageLocation::parse(&args.image)?;
    if matches!(place, ImageLocation::Registry(_)) {
        bail!("no OCI layout or archive at {}", args.image);
    }
    let mut source = place.open(false)?;
    let shipment =
        ImageUpload::collect(&mut *source).with_context(|| format!("cannot read {}", args.image))?;
    let mut registry = Registry::new(reference.clone(), args.registry.insecure);
    let pushed = {
        let _progress = Progress::start("pushing the image");
        registry.push(&shipment, &mut *source).with_context(|| format!("cannot push to {reference}"))?
    };
    let pinned = format!("{}/{}@{}", reference.host, reference.repository, pushed.digest);
    if args.format.json {
        let value = json!({
            "reference": reference.to_string(),
            "pinned_reference": pinned,
            "digest": pushed.digest.to_string(),
            "blobs_uploaded": pushed.sent,
            "blobs_already_present": pushed.present,
        });
        writeln!(out, "{value:#}")?;
    } else {
        writeln!(out, "{pinned}")?;
        style::say(&format!("{reference}: {} blobs pushed, {} already present", pushed.sent, pushed.present));
    }
    Ok(ExitCode::SUCCESS)
}
