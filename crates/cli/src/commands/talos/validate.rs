//! `talos validate`: what Talos would say of machine configurations.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ichor_core::cluster::value::TalosVersion;
use ichor_core::talos::validate::{Mode, Report, Weight};
use serde_json::{Value, json};

use crate::{sealed, style};

/// Say what Talos would say of machine configurations, before a node does
///
/// Unknown keys at any depth, values of the wrong type, documents a release does not have or that do not go together, and
/// every rule of Talos' own validation. What Talos lets pass although it cannot be meant so is told as well, and never makes
/// a configuration invalid. Exits with 1 where one is not valid.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ichor talos validate controlplane.yaml worker.yaml --talos v1.13.9\n  \
    ichor talos validate boot.yaml --talos 1.12 --mode cloud --strict --json")]
pub(crate) struct Args {
    /// Machine configurations
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Talos release that is to run them
    #[arg(long, value_name = "VERSION", value_parser = super::known_release)]
    talos: TalosVersion,
    /// Where they are to run
    #[arg(long, value_enum, default_value_t = Place::Metal)]
    mode: Place,
    /// Take Talos' warnings for errors, as talosctl does with the same flag
    #[arg(long)]
    strict: bool,
    /// Print one object per file, for programs
    #[arg(long)]
    json: bool,
}

/// A mode on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Place {
    /// Machines that Talos installs itself on
    Metal,
    /// Machines whose disk is Talos' image: nocloud and all clouds
    Cloud,
    /// Containers
    Container,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let mode = match args.mode {
        Place::Metal => Mode::Metal,
        Place::Cloud => Mode::Cloud,
        Place::Container => Mode::Container,
    };
    let mut reports = Vec::new();
    for path in &args.files {
        let text = sealed::open(path, None)?.text;
        reports.push((path.display().to_string(), Report::of(&text, &args.talos, mode, args.strict)));
    }
    if args.json {
        let mut values: Vec<_> = reports.iter().map(|(file, report)| value(file, report)).collect();
        let value = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
        writeln!(out, "{value:#}")?;
    } else {
        for (file, report) in &reports {
            tell(out, file, report, &args.talos)?;
        }
    }
    let valid = reports.iter().all(|(_, report)| report.valid);
    Ok(if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell(out: &mut dyn Write, file: &str, report: &Report, talos: &TalosVersion) -> std::io::Result<()> {
    for entry in &report.entries {
        let (style, word) = match entry.weight {
            Weight::Error => (style::ERROR, "error"),
            Weight::Warning => (style::WARNING, "warning"),
            Weight::Advice => (style::NOTE, "note"),
        };
        let line = if entry.line == 0 { String::new() } else { format!(":{}", entry.line) };
        let path = if entry.path.is_empty() { String::new() } else { format!(" {}:", entry.path) };
        writeln!(out, "{file}{line}: {style}{word}:{style:#}{path} {}", entry.message)?;
    }
    if report.valid {
        let good = style::GOOD;
        style::say(&format!("{file}: {good}valid{good:#} for Talos {talos}"));
    }
    Ok(())
}

fn value(file: &str, report: &Report) -> Value {
    let entries = report.entries.iter().map(|entry| {
        json!({
            "severity": match entry.weight {
                Weight::Error => "error",
                Weight::Warning => "warning",
                Weight::Advice => "note",
            },
            "line": entry.line,
            "path": entry.path,
            "message": entry.message,
        })
    });
    json!({
        "file": file,
        "valid": report.valid,
        "load_error": report.load_error,
        "problems": entries.collect::<Vec<_>>(),
    })
}
