//! `schematic`: schematics and images of the Image Factory.

mod fetch;
mod id;
mod register;
mod target;
mod url;

use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use ichor_core::cluster::Files;
use ichor_talos::asset::Factory;
use ichor_talos::schematic::{Schematic, SchematicError};

pub(super) use self::target::known_platform;
use crate::argument::ArgumentError;
use crate::disk::DiskFiles;
use crate::style;

/// Size limit of a schematic.
const MAX_SCHEMATIC: u64 = 16 << 20;

/// Compute ids, print URLs, register and download with the Image Factory
///
/// A schematic describes a Talos image: extensions, kernel arguments, META values and an embedded configuration. Its id is the hash of
/// its text, so ichor computes it offline. A schematic has to be registered with the factory once before images can be downloaded.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: SchematicCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SchematicCommand {
    Id(id::Args),
    Url(url::Args),
    Register(register::Args),
    Fetch(fetch::Args),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        SchematicCommand::Id(args) => id::run(args, out),
        SchematicCommand::Url(args) => url::run(args, out),
        SchematicCommand::Register(args) => register::run(args, out),
        SchematicCommand::Fetch(args) => fetch::run(args, out),
    }
}

/// A schematic on disk; `-` is standard input.
fn read(path: &Path) -> anyhow::Result<Result<Schematic, SchematicError>> {
    let name = path.display();
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().take(MAX_SCHEMATIC).read_to_end(&mut bytes).context("cannot read standard input")?;
        bytes
    } else {
        let path = path.to_str().context("a path that is not UTF-8")?;
        DiskFiles.read(path).map_err(|reason| anyhow!("cannot read {name}: {reason}"))?
    };
    let text = String::from_utf8(bytes).with_context(|| format!("{name} is not UTF-8"))?;
    Ok(Schematic::read(&text))
}

/// The Image Factory to use.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct FactoryUrl {
    /// URL of the Image Factory
    ///
    /// [default: that of the cluster file, or `https://factory.talos.dev`]
    #[arg(long, value_name = "URL", value_parser = web_url)]
    factory: Option<String>,
}

impl FactoryUrl {
    /// The factory of --factory, or `default`.
    pub(super) fn or(&self, default: &str) -> Factory {
        Factory::new(self.factory.as_deref().unwrap_or(default))
    }
}

/// Parses an HTTP or HTTPS URL.
fn web_url(text: &str) -> Result<String, ArgumentError> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let is_web = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if is_web && !rest.is_empty() && !rest.starts_with('/') {
        return Ok(text.to_owned());
    }
    Err(ArgumentError::want("a URL with http or https, such as https://factory.talos.dev"))
}

/// Prints the texts of a schematic for which factories have another ID or no image.
fn print_issues(name: &str, schematic: &Schematic) {
    for issue in schematic.factory_issues() {
        style::say(&format!("{WARNING}warning:{WARNING:#} {name}: {issue}", WARNING = style::WARNING));
    }
    if let Some(id) = schematic.older_id() {
        style::say(&format!(
            "hint: change the text, or use {id} at such a factory; `ichor schematic register` compares IDs"
        ));
    }
}

/// Prints why a schematic is refused.
fn print_refusal(name: &str, reason: &str) {
    style::say_error(&refusal_text(name, reason));
}

/// A reason with the name of the file on every line.
fn refusal_text(name: &str, reason: &str) -> String {
    let mut lines = reason.lines();
    let first = format!("{name}: {}", lines.next().unwrap_or_default());
    lines.fold(first, |all, line| format!("{all}\n       {name}: {line}"))
}
