//! `secrets renew`: a new certificate for the administrator.

use std::io::Write;
use std::path::{Path, PathBuf, absolute};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_talos::secrets::{ADMIN_ROLE, client_certificate};
use rand_core::OsRng;

use super::Key;
use super::place::{self, Life};
use crate::vault;

/// Make a new certificate for the administrator, and keep everything else
///
/// The old one stays valid until it ends: Talos knows no revocation. A certificate for somebody who is no administrator goes
/// to a file of its own.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ichor secrets renew --ttl 2160h\n  ichor secrets renew --role os:reader -o reader.sops.yaml"
)]
pub(super) struct Args {
    /// Bundle to read [default: `secrets` of ichor.yaml, else secrets.sops.yaml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// What the certificate allows; more than one may be named
    #[arg(long = "role", value_name = "ROLE", default_value = "os:admin")]
    roles: Vec<String>,
    /// File to write, which is not there yet [default: the administrator's certificate beside the bundle is replaced]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    life: Life,
    #[command(flatten)]
    key: Key,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let file = place::named_or_here(args.file.as_deref())?;
    let life = args.life.get()?;
    let place = vault::place::admin_file(&file);
    let apart = args.output.as_deref().filter(|output| !is_same(output, &place));
    if apart.is_none() && !args.roles.iter().any(|role| role == ADMIN_ROLE) {
        bail!(
            "a certificate for {} is none for an administrator, and would replace the one in {}: name another file with -o",
            args.roles.join(", "),
            place.display()
        );
    }
    let (bundle, recipients) = vault::place::open(&file, args.key.identity.as_deref())?;
    let roles: Vec<_> = args.roles.iter().map(String::as_str).collect();
    let admin = client_certificate(&bundle.os, &roles, &mut OsRng, ichor_system::now(), life)
        .context("cannot make the administrator's certificate")?;
    match apart {
        Some(path) => place::add_client(path, &admin, recipients.as_ref())?,
        None => place::keep_admin(&place, &admin, recipients.as_ref())?,
    }
    writeln!(out, "{}", apart.unwrap_or(&place).display())?;
    Ok(ExitCode::SUCCESS)
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || absolute(one).ok().is_some_and(|one| absolute(other).is_ok_and(|other| one == other))
}
