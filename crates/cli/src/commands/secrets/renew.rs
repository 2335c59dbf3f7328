//! `secrets renew`: issue a new administrator's certificate.

use std::io::Write;
use std::path::{Path, PathBuf, absolute};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_talos::secrets::{ADMIN_ROLE, client_certificate};
use rand_core::OsRng;

use super::Key;
use super::storage::{self, CertificateLifetime};
use crate::cluster_secrets;

/// Issue a new administrator's certificate
///
/// The old certificate stays valid until it expires: Talos has no revocation. Write certificates with other roles to another file with
/// --output.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ichor secrets renew --ttl 2160h\n  ichor secrets renew --role os:reader -o reader.sops.yaml"
)]
pub(super) struct Args {
    /// Secrets bundle to read
    ///
    /// [default: `secrets` of ichor.yaml, or secrets.sops.yaml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Role of the certificate (repeatable)
    #[arg(long = "role", value_name = "ROLE", default_value = "os:admin")]
    roles: Vec<String>,
    /// New file to write
    ///
    /// [default: replace the administrator's certificate next to the bundle]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    life: CertificateLifetime,
    #[command(flatten)]
    key: Key,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let file = storage::bundle_path(args.file.as_deref())?;
    let life = args.life.get()?;
    let place = cluster_secrets::bundle_file::admin_file(&file);
    let apart = args.output.as_deref().filter(|output| !is_same(output, &place));
    if apart.is_none() && !args.roles.iter().any(|role| role == ADMIN_ROLE) {
        bail!(
            "refusing to replace the administrator's certificate in {1} with one for {0}; choose another file with -o",
            args.roles.join(", "),
            place.display()
        );
    }
    let (bundle, recipients) = cluster_secrets::bundle_file::open(&file, args.key.identity.as_deref())?;
    let roles: Vec<_> = args.roles.iter().map(String::as_str).collect();
    let admin = client_certificate(&bundle.os, &roles, &mut OsRng, ichor_system::now(), life)
        .context("cannot create the administrator's certificate")?;
    match apart {
        Some(path) => storage::create_client(path, &admin, recipients.as_ref())?,
        None => storage::replace_admin(&place, &admin, recipients.as_ref())?,
    }
    writeln!(out, "{}", apart.unwrap_or(&place).display())?;
    Ok(ExitCode::SUCCESS)
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || absolute(one).ok().is_some_and(|one| absolute(other).is_ok_and(|other| one == other))
}
