//! `check`: validate cluster files and report every problem and finding at once.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ichor_bgp::render::{PasswordError, SecretError, fetch_password};
use ichor_core::rules::{self, Finding, Severity, clash};
use ichor_values::{FileIssue, Secret, Sources};
use serde_json::json;

use crate::argument::OutputFormat;
use crate::project::{self, Project};
use crate::refusal::Refusal;
use crate::{disk, report, secret, style};

/// Report every problem in cluster files
///
/// A file that cannot be parsed has problems. A valid file has findings: errors, warnings and notes, each from a rule that `ichor
/// explain RULE` explains. Several files are also checked for conflicting cluster ids, AS numbers, prefixes, VM ids and MAC
/// addresses.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 no problems and no errors, 1 problems or errors (or\nwarnings, with `--deny warnings`), 2 a file cannot be read.\n\n\
                  Examples:\n  ichor check\n  ichor check --deny warnings --junit report.xml\n  ichor check a.yaml b.yaml --json"
)]
pub(crate) struct Args {
    /// Cluster files to check
    #[arg(value_name = "FILE", default_value = "ichor.yaml")]
    files: Vec<PathBuf>,
    /// Treat findings of this severity as errors
    #[arg(long, value_enum, value_name = "SEVERITY")]
    deny: Option<DenyLevel>,
    /// Fetch every referenced secret, without printing it
    #[arg(long)]
    resolve: bool,
    /// Write a JUnit report to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    format: OutputFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DenyLevel {
    /// Treat warnings as errors
    Warnings,
}

/// A cluster file with its problems and findings.
pub(crate) struct CheckedFile {
    pub name: String,
    pub sources: Sources,
    pub problems: Vec<FileIssue>,
    pub findings: Vec<Finding>,
    project: Option<(ichor_core::model::Cluster, ichor_core::plan::Plan)>,
    /// References to secrets that cannot be fetched.
    unresolved: Vec<FileIssue>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let mut files =
        args.files.iter().map(|path| check(path, args.resolve)).collect::<anyhow::Result<Vec<_>>>()?;
    add_conflicts(&mut files);
    if let Some(path) = &args.junit {
        disk::replace(path, &report::junit(&files, &|finding| is_failure(args, finding))?)?;
    }
    // A closed pipe does not change the exit status.
    let status = match print(&files, args, out) {
        Err(error) if !crate::is_closed_pipe(&error) => return Err(error),
        _ => exit_status(&files, args),
    };
    // The process ends here: freeing millions of small values one by one would take longer than the check.
    std::mem::forget(files);
    Ok(ExitCode::from(status))
}

fn print(files: &[CheckedFile], args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    if args.format.json {
        return print_json(files, args, out);
    }
    files.iter().try_for_each(|file| print_text(file, out))
}

fn check(path: &std::path::Path, resolve: bool) -> anyhow::Result<CheckedFile> {
    let name = path.display().to_string();
    Ok(match project::open(path) {
        Err(Refusal::ClusterFile { sources, problems, .. }) => CheckedFile {
            name,
            sources,
            problems,
            findings: Vec::new(),
            project: None,
            unresolved: Vec::new(),
        },
        Err(refused) => return Err(refused.into()),
        Ok(project) => {
            let unresolved = if resolve { unresolved(&project) } else { Vec::new() };
            let findings = project.findings();
            let Project { sources, cluster, plan, .. } = project;
            CheckedFile {
                name,
                sources,
                problems: Vec::new(),
                findings,
                project: Some((cluster, plan)),
                unresolved,
            }
        }
    })
}

/// The references that cannot be fetched, or whose value is not a valid session password, with the reason.
fn unresolved(project: &Project) -> Vec<FileIssue> {
    let name = project.name();
    let fetch = |secret: &Secret| secret::resolve(name, secret).map_err(SecretError::new);
    let tries = project.cluster.secrets().into_iter().filter_map(|reference| {
        let tried = if reference.is_session_password() {
            fetch_password(&fetch, reference.secret)
        } else {
            fetch(reference.secret).map_err(PasswordError::Secret)
        };
        Some(FileIssue::new(reference.path, reference.place, tried.err()?.to_string()))
    });
    tries.collect()
}

/// Adds the conflicts between files that are checked together.
fn add_conflicts(files: &mut [CheckedFile]) {
    let understood: Vec<_> = files
        .iter()
        .enumerate()
        .filter_map(|(nth, file)| {
            file.project.as_ref().map(|(cluster, plan)| (nth, (file.name.as_str(), cluster, plan)))
        })
        .collect();
    let clusters: Vec<_> = understood.iter().map(|(_, cluster)| *cluster).collect();
    let found: Vec<_> =
        clash::compare(&clusters).into_iter().map(|(nth, finding)| (understood[nth].0, finding)).collect();
    for (nth, finding) in found {
        files[nth].findings.push(finding);
    }
}

/// Whether a finding fails the check.
fn is_failure(args: &Args, finding: &Finding) -> bool {
    let least = if args.deny == Some(DenyLevel::Warnings) { Severity::Warning } else { Severity::Error };
    finding.silenced.is_none() && finding.issue.severity >= least
}

fn exit_status(files: &[CheckedFile], args: &Args) -> u8 {
    if files.iter().flat_map(|file| &file.problems).any(|problem| problem.unreadable) {
        return 2;
    }
    let failed = files.iter().any(|file| {
        !file.problems.is_empty()
            || !file.unresolved.is_empty()
            || file.findings.iter().any(|finding| is_failure(args, finding))
    });
    u8::from(failed)
}

fn print_text(file: &CheckedFile, out: &mut dyn Write) -> anyhow::Result<()> {
    if !file.problems.is_empty() {
        report::problems(out, &file.name, &file.sources, &file.problems)?;
        return Ok(());
    }
    let hidden =
        file.project.as_ref().map(|(cluster, _)| rules::secret_locations(cluster)).unwrap_or_default();
    report::findings(out, &file.sources, &file.findings, &hidden)?;
    for FileIssue { issue, place, .. } in &file.unresolved {
        let place = file.sources.locate(*place);
        writeln!(out, "{}error:{:#} {place} {}", style::ERROR, style::ERROR, issue.headline())?;
    }
    writeln!(out, "{}: {}", file.name, summary(file))?;
    Ok(())
}

fn summary(file: &CheckedFile) -> String {
    let count = |severity| {
        file.findings
            .iter()
            .filter(|finding| finding.silenced.is_none() && finding.issue.severity == severity)
            .count()
    };
    let plural = |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    let mut parts = Vec::new();
    for (number, noun) in [
        (count(Severity::Error) + file.unresolved.len(), "error"),
        (count(Severity::Warning), "warning"),
        (count(Severity::Note), "note"),
    ] {
        if number > 0 {
            parts.push(plural(number, noun));
        }
    }
    let silenced = file.findings.iter().filter(|finding| finding.silenced.is_some()).count();
    if silenced > 0 {
        parts.push(format!("{silenced} silenced"));
    }
    let nodes = file.project.as_ref().map_or(0, |(_, plan)| plan.nodes.len());
    if parts.is_empty() {
        format!("{}no problems{}; {}", style::GOOD, style::GOOD.render_reset(), plural(nodes, "node"))
    } else {
        format!("{}; {}", parts.join(", "), plural(nodes, "node"))
    }
}

fn print_json(files: &[CheckedFile], args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let problems: Vec<_> = files
        .iter()
        .flat_map(|file| file.problems.iter().map(|problem| report::problem_json(&file.sources, problem)))
        .collect();
    let findings: Vec<_> = files
        .iter()
        .flat_map(|file| file.findings.iter().map(|finding| report::finding_json(&file.sources, finding)))
        .collect();
    let unresolved: Vec<_> = files
        .iter()
        .flat_map(|file| {
            file.unresolved.iter().map(|reference| report::unresolved_json(&file.sources, reference))
        })
        .collect();
    let report = json!({
        "ok": exit_status(files, args) == 0,
        "problems": problems,
        "findings": findings,
        "unresolved_secrets": unresolved,
    });
    serde_json::to_writer_pretty(&mut *out, &report)?;
    writeln!(out)?;
    Ok(())
}
