//! `schematic fetch`: download images from the Image Factory.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::target::{FactoryAsset, ImageSelection, ImageTarget};
use crate::argument::OutputFormat;
use crate::cache::{self, AssetFetch, CachedAsset, FetchError};
use crate::http::HttpClient;
use crate::style;

/// Download images from the Image Factory into a cache folder
///
/// An interrupted download is resumed. A file is accepted only if it is complete, has the expected format, and matches the checksum
/// that the factory publishes, or else the checksum of its first download.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all files downloaded, 1 a file is missing or invalid, 2 the download\nfailed.\n\n\
                        Examples:\n  ichor schematic fetch schematic.yaml --talos v1.13.9 --asset iso\n  \
                        ichor schematic fetch --node solcp01 --asset kernel,initramfs --cache /srv/images"
)]
pub(crate) struct Args {
    #[command(flatten)]
    target: ImageSelection,
    /// Comma-separated assets to download
    #[arg(long, value_enum, value_delimiter = ',', value_name = "ASSET", default_value = "iso")]
    asset: Vec<FactoryAsset>,
    /// Cache folder [default: the user's cache]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    if let Some(item) =
        args.asset.iter().find(|item| matches!(item, FactoryAsset::Pxe | FactoryAsset::Installer))
    {
        anyhow::bail!(
            "cannot download `{}`: it is not a file; print its URL with `ichor schematic url`",
            item.name()
        );
    }
    let targets = args.target.targets()?;
    let root = args.cache.clone().map_or_else(cache::user_cache, Ok)?;
    let client = HttpClient::new();
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    let mut failed = false;
    for (target, item) in targets.iter().flat_map(|target| args.asset.iter().map(move |item| (target, *item)))
    {
        // Nodes with the same schematic share their images.
        if !seen.insert(target.url(item)) {
            continue;
        }
        match fetch(&client, &root, target, item) {
            Ok(fetched) if args.format.json => all.push(object(target, item, &fetched)),
            Ok(fetched) => writeln!(out, "{}", fetched.path.display())?,
            Err(error) if is_refusal(&error) => {
                print_error(&error);
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
    client: &HttpClient,
    root: &std::path::Path,
    target: &ImageTarget,
    item: FactoryAsset,
) -> Result<CachedAsset, FetchError> {
    let asset = target.asset(item).expect("assets without a file were refused");
    let url = target.url(item);
    AssetFetch { client, url: &url, asset: &asset, path: root.join(target.place(&asset)) }.run()
}

/// Whether the factory or the file is the cause, and not the connection.
fn is_refusal(error: &FetchError) -> bool {
    matches!(
        error,
        FetchError::Refused { .. }
            | FetchError::Wrong { .. }
            | FetchError::Sum { .. }
            | FetchError::Changed { .. }
    )
}

fn print_error(error: &FetchError) {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    style::say(&format!("{}error:{} {error}{cause}", style::ERROR, style::ERROR.render_reset()));
    if matches!(error, FetchError::Refused { complaint, .. } if complaint.starts_with("404")) {
        style::say("hint: register the schematic first: `ichor schematic register FILE`");
    }
}

fn object(target: &ImageTarget, item: FactoryAsset, fetched: &CachedAsset) -> Value {
    json!({
        "name": target.name,
        "asset": item.name(),
        "url": crate::http::redact_url(&target.url(item)),
        "path": fetched.path.display().to_string(),
        "sha256": fetched.sha256,
        "size_bytes": fetched.length,
        "downloaded": fetched.fresh,
        "checksum_published": fetched.published,
    })
}
