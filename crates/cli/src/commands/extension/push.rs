//! `extension push`: an image from disk to a registry.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_image::oci::{Reference, Shipment};
use serde_json::json;

use super::RegistryAccess;
use crate::argument::Format;
use crate::oci::{Place, Registry};
use crate::progress::Progress;
use crate::style;

/// Send an image to a registry
///
/// Manifests are sent exactly as they are, so that the digest in the registry is the one of the layout. Blobs that are there already are
/// not sent. Names and passwords come from where docker, podman and skopeo keep them, or from the file that $REGISTRY_AUTH_FILE names.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 it is there, 2 could not be done.\n\n\
    Examples:\n  \
    ichor extension push frr.tar ghcr.io/me/frr:10.5.1\n  \
    ichor extension push frr localhost:5000/frr:10.5.1 --json")]
pub(crate) struct Args {
    /// OCI layout or archive
    #[arg(value_name = "LAYOUT|ARCHIVE")]
    image: String,
    /// Where to send it
    #[arg(value_name = "REFERENCE")]
    reference: String,
    #[command(flatten)]
    registry: RegistryAccess,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let reference = Reference::parse(&args.reference)?;
    let place = Place::parse(&args.image)?;
    if matches!(place, Place::Registry(_)) {
        bail!("there is no layout or archive {}", args.image);
    }
    let mut source = place.open(false)?;
    let shipment = Shipment::of(&mut *source).with_context(|| format!("cannot read {}", args.image))?;
    let mut registry = Registry::new(reference.clone(), args.registry.insecure);
    let pushed = {
        let _progress = Progress::start("sending the image");
        registry.push(&shipment, &mut *source).with_context(|| format!("cannot push to {reference}"))?
    };
    let whole = format!("{}/{}@{}", reference.host, reference.repository, pushed.digest);
    if args.format.json {
        let value = json!({
            "reference": reference.to_string(),
            "pinned": whole,
            "digest": pushed.digest.to_string(),
            "blobs_sent": pushed.sent,
            "blobs_present": pushed.present,
        });
        writeln!(out, "{value:#}")?;
    } else {
        writeln!(out, "{whole}")?;
        style::say(&format!("{reference}: {} blobs sent, {} were there", pushed.sent, pushed.present));
    }
    Ok(ExitCode::SUCCESS)
}
