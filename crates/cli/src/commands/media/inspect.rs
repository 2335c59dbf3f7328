//! `media inspect`: report how a Talos release reads boot media.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use ichor_image::inspect;
use ichor_image::inspect::{BootMedia, DetectedRelease, TargetMachine};
use ichor_talos::nocloud::Link;
use ichor_talos::schematic::Schematic;
use ichor_values::{Mac, TalosVersion};

use super::source::Source;
use super::{json, text};
use crate::commands::talos::known_release;

/// Report how Talos reads boot media, and what a machine does with them
///
/// MEDIA is one of:
///
/// - an ISO, a disk image (raw or qcow2), a kernel image, an initramfs, or an installer image (OCI layout or archive)
///
/// - a folder with the files of a nocloud volume (meta-data, network-config, user-data) or of metal (config.yaml, meta-10.yaml),
///   or with an initramfs and a command line for netboot
///
/// - a kernel command line, or a file with one
///
/// - a schematic, or the URL of an Image Factory asset
///
/// The report has the release, extensions, platform, network, hostname, every configuration source in the order Talos tries them, the
/// active configuration, and all errors. Nothing is downloaded and no secret is printed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 Talos accepts the media, 1 it does not, 2 the media cannot be read.\n\n\
    Examples:\n  \
    ichor media inspect solcp01.iso --talos v1.13.9 --links eth0=52:54:00:00:01:0b\n  \
    ichor media inspect metal-amd64.qcow2 --json\n  \
    ichor media inspect initramfs-amd64.xz\n  \
    ichor media inspect \"talos.platform=metal talos.config=https://a/c?mac=${mac}\" --talos 1.13\n  \
    ichor media inspect https://factory.talos.dev/image/ID/v1.13.9/metal-amd64.iso --schematic schematic.yaml"
)]
pub(super) struct Args {
    /// Image, folder, command line, schematic or URL; - is standard input
    #[arg(value_name = "MEDIA")]
    what: String,
    /// Talos release that boots [default: that of the image or URL]
    #[arg(long, value_name = "VERSION", value_parser = known_release)]
    talos: Option<TalosVersion>,
    /// Schematic of the Image Factory URL
    #[arg(long, value_name = "FILE")]
    schematic: Option<PathBuf>,
    /// Comma-separated links of the machine, such as eth0=52:54:00:00:01:0b
    #[arg(long, value_name = "NAME=MAC", value_parser = parse_links, default_value = "", hide_default_value = true)]
    links: Links,
    /// Print JSON; `network` uses the field names of Talos
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug)]
struct Links(Vec<Link>);

/// Why the value of --links is invalid.
#[derive(Debug, thiserror::Error)]
enum LinksError {
    #[error("`{0}` is not a link; want NAME=MAC, such as eth0=52:54:00:00:01:0b")]
    NotLink(String),
    #[error("link {0} is repeated")]
    SameName(String),
    #[error("MAC address {0} is repeated")]
    SameMac(Mac),
}

fn parse_links(text: &str) -> Result<Links, LinksError> {
    let link = |part: &str| {
        let want = || LinksError::NotLink(part.to_owned());
        let (name, mac) = part.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(want)?;
        let mac = Mac::parse(mac).map_err(|_| want())?;
        Ok(Link { name: name.to_owned(), mac })
    };
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let links: Vec<Link> = parts.map(link).collect::<Result<_, LinksError>>()?;
    for (nth, Link { name, mac }) in links.iter().enumerate() {
        if links[..nth].iter().any(|other| other.name == *name) {
            return Err(LinksError::SameName(name.clone()));
        }
        if links[..nth].iter().any(|other| other.mac == *mac) {
            return Err(LinksError::SameMac(*mac));
        }
    }
    Ok(Links(links))
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let source = Source::open(&args.what)?;
    let talos = release(args.talos.as_ref(), &source)?;
    let media = media(source, args.schematic.as_deref(), &talos)?;
    let machine = TargetMachine { talos, links: args.links.0.clone() };
    let failed = || format!("cannot inspect {}", args.what);
    let inspection = inspect::inspect(&media, &machine).with_context(failed)?;
    if args.json {
        writeln!(out, "{:#}", json::value(&inspection, &machine.talos))?;
    } else {
        text::print(out, &inspection, &machine.talos)?;
    }
    Ok(if inspection.is_accepted() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The release that boots: that of --talos, of the URL or of the image.
fn release(given: Option<&TalosVersion>, source: &Source) -> anyhow::Result<TalosVersion> {
    match (given, source) {
        (Some(given), Source::Factory(wanted)) if given.minor() != wanted.talos.minor() => {
            bail!("--talos is {given}, but the URL is of Talos {}; omit --talos", wanted.talos)
        }
        (_, Source::Factory(wanted)) => Ok(known_release(&wanted.talos.to_string())?),
        (Some(given), Source::Media(media)) => match &media.release {
            Some(DetectedRelease { version, by }) if version.minor() != given.minor() => {
                bail!("--talos is {given}, but {by} says Talos {version}; omit --talos")
            }
            _ => Ok(given.clone()),
        },
        (Some(given), _) => Ok(given.clone()),
        (None, Source::Media(media)) if media.release.is_some() => {
            let release =
                media.release.as_ref().map(|release| release.version.to_string()).unwrap_or_default();
            Ok(known_release(&release)?)
        }
        (None, _) => bail!("unknown Talos release; pass --talos VERSION, such as --talos v1.13.9"),
    }
}

fn media(source: Source, schematic: Option<&Path>, talos: &TalosVersion) -> anyhow::Result<BootMedia> {
    match source {
        Source::Factory(wanted) => {
            let schematic = schematic.map(read_schematic).transpose()?;
            Ok(BootMedia::of_factory(&wanted, schematic.as_ref())?)
        }
        _ if schematic.is_some() => bail!("--schematic needs the URL of an Image Factory asset"),
        Source::Media(media) => Ok(*media),
        Source::Schematic(schematic) => Ok(BootMedia::of_schematic(&schematic, talos)?),
    }
}

fn read_schematic(path: &Path) -> anyhow::Result<Schematic> {
    match Source::open(path.to_str().context("a path that is not UTF-8")?)? {
        Source::Schematic(schematic) => Ok(*schematic),
        _ => bail!("{} is not a schematic: it has no `customization`", path.display()),
    }
}
