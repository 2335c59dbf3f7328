//! `media inspect`: what a Talos release makes of boot media.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use ichor_core::cluster::value::{Mac, TalosVersion};
use ichor_core::inspect::{self, Machine, Outcome};
use ichor_core::talos::nocloud::Link;

use super::source::Source;
use super::{json, text};
use crate::commands::talos::known_release;

/// Say what Talos makes of boot media, and what a machine will do with them
///
/// Reads a folder with the files of a nocloud volume (meta-data, network-config, user-data) or of metal (config.yaml,
/// meta-10.yaml), or a kernel command line, the way the given release does: platform, network, hostname, each configuration
/// in the order Talos asks for them, and each mistake.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 Talos takes it, 1 it does not, 2 it could not be read.\n\n\
    Examples:\n  \
    ichor media inspect cidata/ --talos v1.13.9 --links eth0=52:54:00:00:01:0b\n  \
    ichor media inspect \"talos.platform=metal talos.config=https://a/c?mac=${mac}\" --talos 1.13\n  \
    ichor media inspect /proc/cmdline --talos 1.13 --json")]
pub(super) struct Args {
    /// A folder, a file with a kernel command line, the command line itself, or - for standard input
    #[arg(value_name = "X")]
    what: String,
    /// Talos release that is to boot
    #[arg(long, value_name = "VERSION", value_parser = known_release)]
    talos: TalosVersion,
    /// Links of the machine with their MAC addresses, parted by commas
    #[arg(long, value_name = "NAME=MAC,…", value_parser = links, default_value = "", hide_default_value = true)]
    links: Links,
    /// Print JSON; `network` is in Talos' own field names
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug)]
struct Links(Vec<Link>);

fn links(text: &str) -> Result<Links, String> {
    let link = |part: &str| {
        let want = || format!("`{part}` is not a link; want NAME=MAC, such as eth0=52:54:00:00:01:0b");
        let (name, mac) = part.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(want)?;
        let mac = Mac::parse(mac).map_err(|_| want())?;
        Ok(Link { name: name.to_owned(), mac })
    };
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(link).collect::<Result<_, _>>().map(Links)
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let machine = Machine { talos: args.talos.clone(), links: args.links.0.clone() };
    let inspection = match Source::open(&args.what)? {
        Source::Volume(volume) => {
            inspect::volume(&volume, &machine).with_context(|| format!("cannot inspect {}", args.what))?
        }
        Source::CommandLine(line) => inspect::command_line(&line, &machine),
    };
    if args.json {
        writeln!(out, "{:#}", json::value(&inspection, &args.talos))?;
    } else {
        text::tell(out, &inspection)?;
    }
    let refused = inspection.error.is_some() || inspection.outcome() == Outcome::Loops;
    Ok(if refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
