//! `secrets check`: validate a secrets bundle.

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
use super::storage;
use crate::encrypted_file::{self, DecryptedFile};
use crate::report;
use crate::{cluster_secrets, style};

/// Validate a secrets bundle and report what Talos does not check
///
/// Problems are errors that Talos rejects. Warnings are mistakes that Talos accepts: certificates that expire within 90 days, keys that
/// do not match their certificate, CA certificates that are not a CA, and others. The administrator's certificate next to the bundle
/// is checked as well.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 Talos accepts the bundle, 1 it does not, 2 the file cannot be\nread or decrypted.\n\n\
                        Example: ichor secrets check secrets.sops.yaml --json"
)]
pub(super) struct Args {
    /// Secrets bundle to check, encrypted or not
    ///
    /// [default: `secrets` of ichor.yaml, or secrets.sops.yaml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    key: Key,
}

/// The problems and warnings of a bundle.
#[derive(Default)]
struct BundleReport {
    problems: Vec<String>,
    warnings: Vec<Issue>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let file = storage::bundle_path(args.file.as_deref())?;
    let verdict = check_bundle(&file, args.key.identity.as_deref())?;
    let valid = verdict.problems.is_empty();
    if args.json {
        let problem = |text: &String| report::issue_json(&Issue::error("", text));
        let problems: Vec<_> = verdict.problems.iter().map(problem).collect();
        let warnings: Vec<_> = verdict.warnings.iter().map(report::issue_json).collect();
        let answer = json!({"valid": valid, "problems": problems, "warnings": warnings});
        serde_json::to_writer_pretty(&mut *out, &answer)?;
        writeln!(out)?;
    } else {
        print(&file, &verdict, out)?;
    }
    Ok(ExitCode::from(u8::from(!valid)))
}

fn check_bundle(file: &Path, identity: Option<&Path>) -> anyhow::Result<BundleReport> {
    let opened = encrypted_file::open(file, identity)?;
    let mut verdict = BundleReport::default();
    let read = Bundle::read(&opened.text);
    match &read {
        Ok(bundle) => verdict.warnings = bundle.warnings(ichor_system::now()),
        Err(problems) => verdict.problems = problems.0.iter().map(ToString::to_string).collect(),
    }
    let admin = cluster_secrets::bundle_file::admin_file(file);
    if admin.exists() {
        verdict.warnings.extend(check_admin(&admin, read.ok().as_ref(), identity)?);
    }
    verdict.warnings.extend(permission_warning(file, &opened));
    Ok(verdict)
}

/// A warning if an unencrypted file is readable by other users.
fn permission_warning(path: &Path, opened: &DecryptedFile) -> Option<Issue> {
    let mode = path.metadata().ok()?.permissions().mode() & 0o777;
    (opened.recipients.is_none() && mode & 0o077 != 0).then(|| {
        let message = format!("is not encrypted and readable by other users (mode {mode:04o}); want 0600");
        Issue::warning(path.display().to_string(), message)
    })
}

fn check_admin(path: &Path, bundle: Option<&Bundle>, identity: Option<&Path>) -> anyhow::Result<Vec<Issue>> {
    let (name, now) = (path.display().to_string(), ichor_system::now());
    let opened = encrypted_file::open(path, identity)?;
    let mut warnings = Vec::from_iter(permission_warning(path, &opened));
    let admin = match read_admin(&opened.text) {
        Ok(admin) => admin,
        Err(problems) => {
            warnings.push(Issue::warning(name, problems.to_string()));
            return Ok(warnings);
        }
    };
    warnings.extend(pair_warnings(&format!("{name}: admin"), &admin, now));
    // Keys and dates were checked above.
    let mut warn = |text: String| warnings.push(Issue::warning(format!("{name}: admin.crt"), text));
    let faults = bundle.map(|bundle| admin_faults(&admin, &bundle.os, now)).unwrap_or_default();
    if faults.contains(&AdminFault::Foreign) {
        warn(format!("{}; renew it with `ichor secrets renew`", AdminFault::Foreign));
    }
    for caution in admin_cautions(&admin, now).iter().filter(|it| matches!(it, AdminCaution::Roles(_))) {
        warn(caution.to_string());
    }
    Ok(warnings)
}

fn print(file: &Path, verdict: &BundleReport, out: &mut dyn Write) -> anyhow::Result<()> {
    let (error, warning, good) = (style::ERROR, style::WARNING, style::GOOD);
    for problem in &verdict.problems {
        writeln!(out, "{error}error:{error:#} {problem}")?;
    }
    for Issue { subject, message, .. } in &verdict.warnings {
        writeln!(out, "{warning}warning:{warning:#} {subject} {message}")?;
    }
    let file = file.display();
    match (verdict.problems.len(), verdict.warnings.len()) {
        (0, 0) => writeln!(out, "{file}: {good}no problems{good:#}")?,
        (0, _) => writeln!(out, "{file}: accepted by Talos")?,
        _ => writeln!(out, "{file}: rejected by Talos")?,
    }
    Ok(())
}
