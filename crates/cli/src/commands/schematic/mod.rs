//! `schematic`: what the Image Factory makes images from, and where they are.

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
use crate::disk::Disk;
use crate::style;

/// No schematic is longer.
const LONGEST: u64 = 16 << 20;

/// Work with the Image Factory: ids, URLs, registration, downloads
///
/// A schematic says what goes into a Talos image: extensions, kernel arguments, META, a configuration. Its id is the
/// hash of its text, so ichor knows it without asking; the factory has to be told once.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Id(id::Args),
    Url(url::Args),
    Register(register::Args),
    Fetch(fetch::Args),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Id(args) => id::run(args, out),
        Verb::Url(args) => url::run(args, out),
        Verb::Register(args) => register::run(args, out),
        Verb::Fetch(args) => fetch::run(args, out),
    }
}

/// A schematic on disk; `-` is standard input.
fn read(path: &Path) -> anyhow::Result<Result<Schematic, SchematicError>> {
    let name = path.display();
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().take(LONGEST).read_to_end(&mut bytes).context("cannot read standard input")?;
        bytes
    } else {
        let path = path.to_str().context("a path that is not UTF-8")?;
        Disk.read(path).map_err(|reason| anyhow!("cannot read {name}: {reason}"))?
    };
    let text = String::from_utf8(bytes).with_context(|| format!("{name} is not UTF-8"))?;
    Ok(Schematic::read(&text))
}

/// The Image Factory that is asked.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct FactoryUrl {
    /// URL of the Image Factory; the cluster file's, or the public one, when left out
    #[arg(long, value_name = "URL", value_parser = web_url)]
    factory: Option<String>,
}

impl FactoryUrl {
    /// The factory that is named, else the `usual` one.
    pub(super) fn or(&self, usual: &str) -> Factory {
        Factory::new(self.factory.as_deref().unwrap_or(usual))
    }
}

/// The URL of a factory, which is asked over HTTP.
fn web_url(text: &str) -> Result<String, ArgumentError> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let is_web = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if is_web && !rest.is_empty() && !rest.starts_with('/') {
        return Ok(text.to_owned());
    }
    Err(ArgumentError::want("a URL with http or https, such as https://factory.talos.dev"))
}

/// Says that the answer is no, and why.
fn refuse(name: &str, reason: &str) {
    style::say_error(&refusal(name, reason));
}

/// What is wrong with something of this name, each line of it.
fn refusal(name: &str, reason: &str) -> String {
    let mut lines = reason.lines();
    let first = format!("{name}: {}", lines.next().unwrap_or_default());
    lines.fold(first, |all, line| format!("{all}\n       {name}: {line}"))
}
