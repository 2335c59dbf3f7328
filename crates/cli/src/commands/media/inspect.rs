//! `media inspect`: what a Talos release makes of boot media.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use ichor_image::inspect;
use ichor_image::inspect::{Machine, Media, Release};
use ichor_talos::nocloud::Link;
use ichor_talos::schematic::Schematic;
use ichor_values::{Mac, TalosVersion};

use super::source::Source;
use super::{json, text};
use crate::commands::talos::known_release;

/// Say what Talos makes of boot media, and what a machine will do with them
///
/// X is an ISO, a disk image (raw or qcow2), a kernel image, an initramfs or the image of an installer (an OCI layout or archive); a folder
/// with the files of a nocloud volume (meta-data, network-config, user-data) or of metal (config.yaml, meta-10.yaml), or with an
/// initramfs and a command line for the network; a kernel command line; a schematic, or the address of what an Image Factory makes. It
/// is read the way its release does: the release, its extensions, the platform, network, hostname, each configuration in the order Talos
/// asks for them, the one that is in force, and each mistake. Nothing is fetched, and no secret is shown.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 Talos takes it, 1 it does not or a mistake is an error, 2 it could not be read.\n\n\
    Examples:\n  \
    ichor media inspect solcp01.iso --talos v1.13.9 --links eth0=52:54:00:00:01:0b\n  \
    ichor media inspect metal-amd64.qcow2 --json\n  \
    ichor media inspect initramfs-amd64.xz\n  \
    ichor media inspect \"talos.platform=metal talos.config=https://a/c?mac=${mac}\" --talos 1.13\n  \
    ichor media inspect https://factory.talos.dev/image/ID/v1.13.9/metal-amd64.iso --schematic schematic.yaml"
)]
pub(super) struct Args {
    /// An image, a folder, a command line or a file with one, a schematic, an address, or - for standard input
    #[arg(value_name = "X")]
    what: String,
    /// Talos release that is to boot; that of the image or the address when left out
    #[arg(long, value_name = "VERSION", value_parser = known_release)]
    talos: Option<TalosVersion>,
    /// Schematic that what the address asks for is made from
    #[arg(long, value_name = "FILE")]
    schematic: Option<PathBuf>,
    /// Links of the machine with their MAC addresses, parted by commas
    #[arg(long, value_name = "NAME=MAC,…", value_parser = links, default_value = "", hide_default_value = true)]
    links: Links,
    /// Print JSON; `network` is in Talos' own field names
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug)]
struct Links(Vec<Link>);

/// Why links are not taken.
#[derive(Debug, thiserror::Error)]
enum LinksError {
    #[error("`{0}` is not a link; want NAME=MAC, such as eth0=52:54:00:00:01:0b")]
    NotLink(String),
    #[error("two links are named {0}; want each once")]
    SameName(String),
    #[error("two links have the MAC address {0}; want each once")]
    SameMac(Mac),
}

fn links(text: &str) -> Result<Links, LinksError> {
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
    let machine = Machine { talos, links: args.links.0.clone() };
    let failed = || format!("cannot inspect {}", args.what);
    let inspection = inspect::inspect(&media, &machine).with_context(failed)?;
    if args.json {
        writeln!(out, "{:#}", json::value(&inspection, &machine.talos))?;
    } else {
        text::tell(out, &inspection, &machine.talos)?;
    }
    Ok(if inspection.is_taken() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The release that boots: what an address asks for is of one already.
fn release(given: Option<&TalosVersion>, source: &Source) -> anyhow::Result<TalosVersion> {
    match (given, source) {
        (Some(given), Source::Factory(wanted)) if given.minor() != wanted.talos.minor() => {
            bail!("--talos is {given}, and the address asks for Talos {}; leave --talos out", wanted.talos)
        }
        (_, Source::Factory(wanted)) => Ok(known_release(&wanted.talos.to_string())?),
        (Some(given), Source::Media(media)) => match &media.release {
            Some(Release { version, by }) if version.minor() != given.minor() => {
                bail!("--talos is {given}, and {by} says Talos {version}; leave --talos out")
            }
            _ => Ok(given.clone()),
        },
        (Some(given), _) => Ok(given.clone()),
        (None, Source::Media(media)) if media.release.is_some() => {
            let release =
                media.release.as_ref().map(|release| release.version.to_string()).unwrap_or_default();
            Ok(known_release(&release)?)
        }
        (None, _) => bail!("which Talos? want --talos VERSION, such as --talos v1.13.9"),
    }
}

fn media(source: Source, schematic: Option<&Path>, talos: &TalosVersion) -> anyhow::Result<Media> {
    match source {
        Source::Factory(wanted) => {
            let schematic = schematic.map(read_schematic).transpose()?;
            Ok(Media::of_factory(&wanted, schematic.as_ref())?)
        }
        _ if schematic.is_some() => bail!("--schematic goes with the address of what a factory makes"),
        Source::Media(media) => Ok(*media),
        Source::Schematic(schematic) => Ok(Media::of_schematic(&schematic, talos)?),
    }
}

fn read_schematic(path: &Path) -> anyhow::Result<Schematic> {
    match Source::open(path.to_str().context("a path that is not UTF-8")?)? {
        Source::Schematic(schematic) => Ok(*schematic),
        _ => bail!("{} is not a schematic, which has `customization`", path.display()),
    }
}
