//! `meta`: META values in the form they travel in.

use std::io::{Read, Write};
use std::process::ExitCode;

use anyhow::Context;
use ichor_talos::meta;
use ichor_talos::meta::Value;
use serde_json::json;

use crate::argument::Format;
use crate::refused::Refused;
use crate::style;

/// The longest text that is read: the META partition holds no more.
const LONGEST: u64 = 2 << 20;

/// Encode and decode META values, as Talos' installer and kernel command line carry them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Encode(Encode),
    Decode(Decode),
}

/// Encode values in base64
///
/// Keys are numbers as Talos reads them: 10, 0xa and 012 are the same. Key 10 is the network of a machine on metal. A value
/// has no `;`: Talos would cut it there.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 encoded, 1 a value that cannot be.\n\n\
                        Examples:\n  ichor meta encode 0xa=foo 12=rack-7\n  \
                        ichor meta encode --gzip --env \"10=$(cat meta-10.yaml)\"")]
struct Encode {
    /// Values
    #[arg(value_name = "KEY=VALUE")]
    values: Vec<String>,
    /// Compress values of more than 256 bytes, as Talos does from 1.6.3 on
    #[arg(long)]
    gzip: bool,
    /// Print the installer's environment variable
    #[arg(long, conflicts_with = "kernel")]
    env: bool,
    /// Print the kernel argument
    #[arg(long)]
    kernel: bool,
}

/// Decode values, one KEY=VALUE per line
///
/// Takes what `encode` prints, with --env and --kernel too, or a whole kernel command line with that in it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 decoded, 1 not META values, 2 could not be read.\n\n\
                        Examples:\n  ichor meta decode MHhhPWZvbw==\n  ichor meta decode - </proc/cmdline")]
struct Decode {
    /// What to decode; standard input when left out or -
    text: Option<String>,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Encode(args) => encode(args, out),
        Verb::Decode(args) => decode(args, out),
    }
}

fn encode(args: &Encode, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let parsed: Result<Vec<_>, _> =
        args.values.iter().enumerate().map(|(nth, text)| Value::parse(text, nth + 1)).collect();
    let values = parsed.map_err(|error| Refused::reasons([error]))?;
    let cut: Vec<_> = meta::cut(&values).collect();
    if !cut.is_empty() {
        let told = |key| format!("the value of key {key:#x} has a `;`, at which Talos would cut it");
        return Err(Refused::reasons(cut.into_iter().map(told)).into());
    }
    for key in meta::repeated(&values) {
        warn(&format!("key {key:#x} stands more than once, and a node keeps one value of it"));
    }
    if values.is_empty() {
        warn("no values, and so nothing is encoded; want KEY=VALUE, such as 0xa=text");
    }
    let encoded = meta::encode(&values, args.gzip);
    let printed = match (args.env, args.kernel) {
        (true, _) => meta::environment(&encoded),
        (_, true) => meta::kernel_argument(&encoded),
        _ => encoded,
    };
    writeln!(out, "{printed}")?;
    Ok(ExitCode::SUCCESS)
}

fn decode(args: &Decode, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let text = match args.text.as_deref() {
        Some(text) if text != "-" => text.to_owned(),
        _ => {
            let mut text = String::new();
            std::io::stdin().take(LONGEST).read_to_string(&mut text).context("cannot read standard input")?;
            text
        }
    };
    let values = meta::decode(meta::encoded_part(&text)).map_err(|error| Refused::reasons([error]))?;
    if values.is_empty() {
        warn("there is nothing to decode");
    }
    if args.format.json {
        let all: Vec<_> =
            values.iter().map(|value| json!({"key": value.key, "value": value.value})).collect();
        writeln!(out, "{:#}", serde_json::Value::Array(all))?;
        return Ok(ExitCode::SUCCESS);
    }
    for value in values {
        writeln!(out, "{value}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn warn(text: &str) {
    style::say(&format!("{}warning:{} {text}", style::WARNING, style::WARNING.render_reset()));
}
