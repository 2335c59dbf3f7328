//! `schematic fetch`: the factory's images, on this machine.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::target::{Item, Target, Which};
use crate::argument::Format;
use crate::cache::{self, Fetch, FetchError, Fetched};
use crate::http::Client;
use crate::style;

/// Fetch images from the factory into a folder, each once
///
/// An interrupted download goes on where it stopped. A file counts only when it is whole, is what it should be, and has
/// the checksum the factory publishes, or the one of its first download.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 everything is there, 1 the factory has it not or it is not what it should be, \
                        2 could not be done.\n\n\
                        Examples:\n  ichor schematic fetch schematic.yaml --talos v1.13.9 --asset iso\n  \
                        ichor schematic fetch --node solcp01 --asset kernel,initramfs --cache /srv/images"
)]
pub(crate) struct Args {
    #[command(flatten)]
    target: Which,
    /// What to fetch
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT", default_value = "iso")]
    asset: Vec<Item>,
    /// Folder to keep it in; the user's cache when left out
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    if let Some(item) = args.asset.iter().find(|item| matches!(item, Item::Pxe | Item::Installer)) {
        anyhow::bail!("`{}` is not a file to keep; `ichor schematic url` says where it is", item.name());
    }
    let targets = args.target.targets()?;
    let root = args.cache.clone().map_or_else(cache::user, Ok)?;
    let client = Client::new();
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    let mut failed = false;
    for (target, item) in targets.iter().flat_map(|target| args.asset.iter().map(move |item| (target, *item)))
    {
        // Nodes that are alike share their images.
        if !seen.insert(target.url(item)) {
            continue;
        }
        match fetch(&client, &root, target, item) {
            Ok(fetched) if args.format.json => all.push(object(target, item, &fetched)),
            Ok(fetched) => writeln!(out, "{}", fetched.path.display())?,
            Err(error) if is_answer(&error) => {
                say(&error);
                failed = true;
            }
            Err(error) => return Err(error.into()),
        }
    }
    if args.format.json {
        writeln!(out, "{:#}", Value::Array(all))?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn fetch(
    client: &Client,
    root: &std::path::Path,
    target: &Target,
    item: Item,
) -> Result<Fetched, FetchError> {
    let asset = target.asset(item).expect("what is no file was refused");
    let url = target.url(item);
    Fetch { client, url: &url, asset: &asset, path: root.join(target.place(&asset)) }.run()
}

/// Whether the factory gave an answer, and it was no.
fn is_answer(error: &FetchError) -> bool {
    matches!(
        error,
        FetchError::Refused { .. }
            | FetchError::Wrong { .. }
            | FetchError::Sum { .. }
            | FetchError::Changed { .. }
    )
}

fn say(error: &FetchError) {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    style::say(&format!("{}error:{} {error}{cause}", style::ERROR, style::ERROR.render_reset()));
    if matches!(error, FetchError::Refused { complaint, .. } if complaint.starts_with("404")) {
        style::say("hint: a factory has to be told a schematic once: `ichor schematic register FILE`");
    }
}

fn object(target: &Target, item: Item, fetched: &Fetched) -> Value {
    json!({
        "name": target.name,
        "asset": item.name(),
        "url": crate::http::shown(&target.url(item)),
        "path": fetched.path.display().to_string(),
        "sha256": fetched.sha256,
        "length": fetched.length,
        "fetched": fetched.fresh,
        "checksum_published": fetched.published,
    })
}
