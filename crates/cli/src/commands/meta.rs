//! `meta`: encode and decode the values of Talos' META partition.

use std::io::{Read, Write};
use std::process::ExitCode;

use anyhow::Context;
use ichor_talos::meta;
use ichor_talos::meta::Value;
use serde_json::json;

use crate::argument::OutputFormat;
use crate::refusal::Refusal;
use crate::style;

/// Size limit of standard input: the size of the META partition.
const MAX_INPUT: u64 = 2 << 20;

/// Encode and decode META values for the Talos installer and kernel
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: MetaCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MetaCommand {
    Encode(EncodeArgs),
    Decode(DecodeArgs),
}

/// Encode META values in base64
///
/// Keys are decimal, hexadecimal or octal numbers: 10, 0xa and 012 are the same key. Key 10 is the network configuration on the metal
/// platform. A value must not contain `;`, at which Talos truncates it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 encoded, 1 a value cannot be encoded.\n\n\
                        Examples:\n  ichor meta encode 0xa=foo 12=rack-7\n  \
                        ichor meta encode --gzip --env \"10=$(cat meta-10.yaml)\"")]
struct EncodeArgs {
    /// Values to encode, such as 0xa=TEXT
    #[arg(value_name = "KEY=VALUE")]
    values: Vec<String>,
    /// Compress values longer than 256 bytes, as Talos does from 1.6.3 on
    #[arg(long)]
    gzip: bool,
    /// Print the environment variable of the installer
    #[arg(long, conflicts_with = "kernel")]
    env: bool,
    /// Print the kernel argument
    #[arg(long)]
    kernel: bool,
}

/// Decode META values and print one KEY=VALUE per line
///
/// The input is the output of `ichor meta encode`, with or without --env or --kernel, or a kernel command line that contains it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 decoded, 1 not META values, 2 the input cannot be read.\n\n\
                        Examples:\n  ichor meta decode MHhhPWZvbw==\n  ichor meta decode - </proc/cmdline")]
struct DecodeArgs {
    /// Text to decode; - reads standard input [default: -]
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        MetaCommand::Encode(args) => encode(args, out),
        MetaCommand::Decode(args) => decode(args, out),
    }
}

fn encode(args: &EncodeArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let parsed: Result<Vec<_>, _> =
        args.values.iter().enumerate().map(|(nth, text)| Value::parse(text, nth + 1)).collect();
    let values = parsed.map_err(|error| Refusal::reasons([error]))?;
    let cut: Vec<_> = meta::unreadable_keys(&values).collect();
    if !cut.is_empty() {
        let reason =
            |key| format!("cannot encode key {key:#x}: its value contains `;`, at which Talos truncates it");
        return Err(Refusal::reasons(cut.into_iter().map(reason)).into());
    }
    for key in meta::repeated_keys(&values) {
        warn(&format!("key {key:#x} is repeated; a node keeps only one of its values"));
    }
    if values.is_empty() {
        warn("no values to encode; pass KEY=VALUE, such as 0xa=text");
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

fn decode(args: &DecodeArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let text = match args.text.as_deref() {
        Some(text) if text != "-" => text.to_owned(),
        _ => {
            let mut text = String::new();
            std::io::stdin()
                .take(MAX_INPUT)
                .read_to_string(&mut text)
                .context("cannot read standard input")?;
            text
        }
    };
    let values = meta::decode(meta::encoded_part(&text)).map_err(|error| Refusal::reasons([error]))?;
    if values.is_empty() {
        warn("no values to decode");
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
