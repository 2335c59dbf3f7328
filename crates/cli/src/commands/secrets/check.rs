//! `secrets check`: what Talos would say of a bundle, and what it would not.

use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ichor_talos::secrets::{
    AdminCaution, AdminFault, Bundle, admin_cautions, admin_faults, pair_warnings, read_admin,
};
use ichor_values::Issue;
use serde_json::json;

use super::Key;
use super::place;
use crate::report::{self, IssueKeys};
use crate::sealed::{self, Opened};
use crate::{style, vault};

/// Say what Talos would refuse in a bundle, and what it lets pass although it is wrong
///
/// Problems are what Talos refuses. Warnings are certificates that end within 90 days, keys that do not belong to their
/// certificate, authorities that are none and the like; the administrator's certificate beside the bundle is looked at too.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 Talos takes it, 1 it does not, 2 the file cannot be read or opened.\n\n\
                        Example: ichor secrets check secrets.sops.yaml --json"
)]
pub(super) struct Args {
    /// Bundle to read, in the clear or encrypted [default: `secrets` of ichor.yaml, else secrets.sops.yaml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print JSON: `valid`, `problems` as texts, `warnings` as objects with `path` and `message`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    key: Key,
}

/// What is wrong.
#[derive(Default)]
struct Verdict {
    problems: Vec<String>,
    warnings: Vec<Issue>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let file = place::named_or_here(args.file.as_deref())?;
    let verdict = judge(&file, args.key.identity.as_deref())?;
    let valid = verdict.problems.is_empty();
    if args.json {
        let warnings: Vec<_> =
            verdict.warnings.iter().map(|it| report::issue_json(it, IssueKeys::AT_PATH)).collect();
        let answer = json!({"valid": valid, "problems": verdict.problems, "warnings": warnings});
        serde_json::to_writer_pretty(&mut *out, &answer)?;
        writeln!(out)?;
    } else {
        print(&file, &verdict, out)?;
    }
    Ok(ExitCode::from(u8::from(!valid)))
}

fn judge(file: &Path, identity: Option<&Path>) -> anyhow::Result<Verdict> {
    let opened = sealed::open(file, identity)?;
    let mut verdict = Verdict::default();
    let read = Bundle::read(&opened.text);
    match &read {
        Ok(bundle) => verdict.warnings = bundle.warnings(ichor_system::now()),
        Err(problems) => verdict.problems = problems.0.iter().map(ToString::to_string).collect(),
    }
    let admin = vault::place::admin_file(file);
    if admin.exists() {
        verdict.warnings.extend(judge_admin(&admin, read.ok().as_ref(), identity)?);
    }
    verdict.warnings.extend(exposed(file, &opened));
    Ok(verdict)
}

/// A file in the clear that is not for one pair of eyes.
fn exposed(path: &Path, opened: &Opened) -> Option<Issue> {
    let mode = path.metadata().ok()?.permissions().mode() & 0o777;
    (opened.recipients.is_none() && mode & 0o077 != 0).then(|| {
        let message = format!("is in the clear, and others can read it (mode {mode:04o}); want 0600");
        Issue::warning(path.display().to_string(), message)
    })
}

fn judge_admin(path: &Path, bundle: Option<&Bundle>, identity: Option<&Path>) -> anyhow::Result<Vec<Issue>> {
    let (name, now) = (path.display().to_string(), ichor_system::now());
    let opened = sealed::open(path, identity)?;
    let mut warnings = Vec::from_iter(exposed(path, &opened));
    let admin = match read_admin(&opened.text) {
        Ok(admin) => admin,
        Err(problems) => {
            warnings.push(Issue::warning(name, problems.to_string()));
            return Ok(warnings);
        }
    };
    warnings.extend(pair_warnings(&format!("{name}: admin"), &admin, now));
    // What is left to say: keys and dates were looked at already.
    let mut say = |text: String| warnings.push(Issue::warning(format!("{name}: admin.crt"), text));
    let faults = bundle.map(|bundle| admin_faults(&admin, &bundle.os, now)).unwrap_or_default();
    if faults.contains(&AdminFault::Foreign) {
        say(format!("{}; make a new one with `ichor secrets renew`", AdminFault::Foreign));
    }
    for caution in admin_cautions(&admin, now).iter().filter(|it| matches!(it, AdminCaution::Roles(_))) {
        say(caution.to_string());
    }
    Ok(warnings)
}

fn print(file: &Path, verdict: &Verdict, out: &mut dyn Write) -> anyhow::Result<()> {
    let (error, warning, good) = (style::ERROR, style::WARNING, style::GOOD);
    for problem in &verdict.problems {
        writeln!(out, "{error}error:{error:#} {problem}")?;
    }
    for Issue { subject, message, .. } in &verdict.warnings {
        writeln!(out, "{warning}warning:{warning:#} {subject} {message}")?;
    }
    let file = file.display();
    match (verdict.problems.len(), verdict.warnings.len()) {
        (0, 0) => writeln!(out, "{file}: {good}nothing wrong{good:#}")?,
        (0, _) => writeln!(out, "{file}: Talos takes it")?,
        _ => writeln!(out, "{file}: Talos refuses it")?,
    }
    Ok(())
}
