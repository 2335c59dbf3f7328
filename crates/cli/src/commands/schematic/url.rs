//! `schematic url`: print the URLs of images.

use std::io::Write;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::target::{FactoryAsset, ImageSelection, ImageTarget};

use crate::argument::OutputFormat;

/// Print the image URLs of a schematic or of every node
///
/// The installer is an image reference for `machine.install.image`; all other assets are URLs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ichor schematic url schematic.yaml --talos v1.13.9\n  \
                        ichor schematic url schematic.yaml --talos v1.13.9 --platform nocloud --arch arm64 --asset iso\n  \
                        ichor schematic url --node solcp01 --json")]
pub(crate) struct Args {
    #[command(flatten)]
    target: ImageSelection,
    /// Comma-separated assets to print [default: all assets]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "ASSET")]
    asset: Vec<FactoryAsset>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let targets = args.target.targets()?;
    if args.format.json {
        let all: Vec<_> = targets.iter().map(|target| object(target, &assets(args, target))).collect();
        writeln!(out, "{:#}", Value::Array(all))?;
        return Ok(ExitCode::SUCCESS);
    }
    for target in &targets {
        let items = assets(args, target);
        for item in &items {
            let url = target.url(*item);
            match (targets.len(), items.len()) {
                (1, 1) => writeln!(out, "{url}")?,
                (1, _) => writeln!(out, "{:9}  {url}", item.name())?,
                _ => writeln!(out, "{}  {:9}  {url}", target.name, item.name())?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn assets(args: &Args, target: &ImageTarget) -> Vec<FactoryAsset> {
    if args.asset.is_empty() { target.assets().to_vec() } else { args.asset.clone() }
}

fn object(target: &ImageTarget, items: &[FactoryAsset]) -> Value {
    let urls: Map<String, Value> = items.iter().map(|item| (item.name(), json!(target.url(*item)))).collect();
    json!({"name": target.name, "schematic_id": target.id, "assets": urls})
}
