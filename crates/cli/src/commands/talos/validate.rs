//! `talos validate`: validate machine configurations with Talos' rules.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ichor_talos::validate::{Mode, Report, ReportEntry};
use ichor_values::TalosVersion;
use serde_json::{Value, json};

use super::{read_decrypted, refuse_second_input};
use crate::chain::chain;
use crate::encrypted_file::DecryptError;
use crate::{report, style};

/// Validate machine configurations with the rules of a Talos release
///
/// The command reports unknown keys, values of the wrong type, unsupported or conflicting documents, and every violation of Talos' own
/// validation. Mistakes that Talos accepts silently are reported as notes and never make a configuration invalid.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all files are valid, 1 a file is invalid, 2 a file cannot be read.\n\n\
    Examples:\n  \
    ichor talos validate controlplane.yaml worker.yaml --talos v1.13.9\n  \
    ichor talos validate boot.yaml --talos 1.12 --mode cloud --strict --json"
)]
pub(crate) struct Args {
    /// Machine configurations; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Talos release whose rules apply
    #[arg(long, value_name = "VERSION", value_parser = super::known_release)]
    talos: TalosVersion,
    /// Kind of machine that runs the configuration
    #[arg(long, value_enum, value_name = "MODE", default_value_t = RuntimeMode::Metal)]
    mode: RuntimeMode,
    /// Treat Talos' warnings as errors, like `talosctl --strict`
    #[arg(long)]
    strict: bool,
    /// Print JSON: an object for one file, a list for several
    #[arg(long)]
    json: bool,
}

/// A mode on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RuntimeMode {
    /// Machines on which Talos is installed to a disk
    Metal,
    /// Machines that boot a Talos disk image: nocloud and all clouds
    Cloud,
    /// Containers
    Container,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let mode = match args.mode {
        RuntimeMode::Metal => Mode::Metal,
        RuntimeMode::Cloud => Mode::Cloud,
        RuntimeMode::Container => Mode::Container,
    };
    refuse_second_input(&args.files)?;
    let reports = args.files.iter().map(|path| {
        let report = match read_decrypted(path, None) {
            Ok(text) => Ok(Report::validate(&text, &args.talos, mode, args.strict)),
            Err(DecryptError::NotText { line, .. }) => Ok(Report::not_text(line)),
            // The other files are still validated.
            Err(error) => Err(error),
        };
        (path.display().to_string(), report)
    });
    let results: Vec<ValidationResult> = reports.collect();
    if args.json {
        let mut values: Vec<_> = results.iter().map(value).collect();
        let value = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
        writeln!(out, "{value:#}")?;
    }
    for (file, report) in &results {
        match report {
            Ok(report) if !args.json => print(out, file, report, &args.talos)?,
            Ok(_) => {}
            Err(error) => style::say_error(&chain(error)),
        }
    }
    Ok(exit_status(&results))
}

/// A file with its validation report, or why it cannot be read.
type ValidationResult = (String, Result<Report, DecryptError>);

fn exit_status(results: &[ValidationResult]) -> ExitCode {
    let reports = || results.iter().map(|(_, report)| report);
    if reports().any(Result::is_err) {
        return ExitCode::from(2);
    }
    let valid = reports().flatten().all(|report| report.valid);
    if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(out: &mut dyn Write, file: &str, report: &Report, talos: &TalosVersion) -> std::io::Result<()> {
    for ReportEntry { line, issue } in &report.entries {
        let line = if *line == 0 { String::new() } else { format!(":{line}") };
        writeln!(out, "{file}{line}: {}", report::line(issue))?;
    }
    if report.valid {
        let good = style::GOOD;
        style::say(&format!("{file}: {good}valid{good:#} for Talos {talos}"));
    }
    Ok(())
}

fn value((file, report): &ValidationResult) -> Value {
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            let error = chain(error);
            return json!({"file": file, "valid": false, "load_error": true, "problems": [], "read_error": error});
        }
    };
    let entries = report.entries.iter().map(|entry| {
        json!({
            "severity": entry.issue.severity.to_string(),
            "subject": Some(&entry.issue.subject).filter(|subject| !subject.is_empty()),
            "line": Some(entry.line).filter(|line| *line > 0),
            "message": entry.issue.message,
            "help": entry.issue.help,
        })
    });
    json!({
        "file": file,
        "valid": report.valid,
        "load_error": report.load_error,
        "problems": entries.collect::<Vec<_>>(),
    })
}
