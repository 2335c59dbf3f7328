//! `talos validate`: what Talos would say of machine configurations.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ichor_talos::validate::{Entry, Mode, Report};
use ichor_values::TalosVersion;
use serde_json::{Value, json};

use super::{open, refuse_second_input};
use crate::chain::chain;
use crate::sealed::OpenError;
use crate::{report, style};

/// Say what Talos would say of machine configurations, before a node does
///
/// Unknown keys at any depth, values of the wrong type, documents a release does not have or that do not go together, and
/// every rule of Talos' own validation. What Talos lets pass although it cannot be meant so is told as well, and never makes
/// a configuration invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 all are valid, 1 one is not, 2 one could not be read.\n\n\
    Examples:\n  \
    ichor talos validate controlplane.yaml worker.yaml --talos v1.13.9\n  \
    ichor talos validate boot.yaml --talos 1.12 --mode cloud --strict --json")]
pub(crate) struct Args {
    /// Machine configurations, - for standard input
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
    /// Print JSON: an object for one file, a list of them for several
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
    refuse_second_input(&args.files)?;
    let judged = args.files.iter().map(|path| {
        let report = match open(path, None) {
            Ok(text) => Ok(Report::of(&text, &args.talos, mode, args.strict)),
            Err(OpenError::NotText { line, .. }) => Ok(Report::of_no_text(line)),
            // What keeps one file from being read keeps no other from being judged.
            Err(error) => Err(error),
        };
        (path.display().to_string(), report)
    });
    let judged: Vec<Judged> = judged.collect();
    if args.json {
        let mut values: Vec<_> = judged.iter().map(value).collect();
        let value = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
        writeln!(out, "{value:#}")?;
    }
    for (file, report) in &judged {
        match report {
            Ok(report) if !args.json => tell(out, file, report, &args.talos)?,
            Ok(_) => {}
            Err(error) => style::say_error(&chain(error)),
        }
    }
    Ok(exit(&judged))
}

/// A file, and what the release says of it or why it could not be read.
type Judged = (String, Result<Report, OpenError>);

fn exit(judged: &[Judged]) -> ExitCode {
    let reports = || judged.iter().map(|(_, report)| report);
    if reports().any(Result::is_err) {
        return ExitCode::from(2);
    }
    let valid = reports().flatten().all(|report| report.valid);
    if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(out: &mut dyn Write, file: &str, report: &Report, talos: &TalosVersion) -> std::io::Result<()> {
    for Entry { line, issue } in &report.entries {
        let line = if *line == 0 { String::new() } else { format!(":{line}") };
        writeln!(out, "{file}{line}: {}", report::line(issue))?;
    }
    if report.valid {
        let good = style::GOOD;
        style::say(&format!("{file}: {good}valid{good:#} for Talos {talos}"));
    }
    Ok(())
}

fn value((file, report): &Judged) -> Value {
    let report = match report {
        Ok(report) => report,
        Err(error) => return json!({"file": file, "valid": false, "unreadable": chain(error)}),
    };
    let entries = report.entries.iter().map(|entry| {
        json!({
            "severity": entry.issue.severity.to_string(),
            "line": entry.line,
            "path": entry.issue.subject,
            "message": entry.issue.message,
        })
    });
    json!({
        "file": file,
        "valid": report.valid,
        "load_error": report.load_error,
        "problems": entries.collect::<Vec<_>>(),
    })
}
