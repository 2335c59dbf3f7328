//! `secrets renew`: a new certificate for the administrator.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use ichor_core::talos::secrets::client_certificate;
use rand_core::OsRng;

use super::Key;
use super::place::{self, Life};
use crate::sealed;

/// Make a new certificate for the administrator, and keep everything else
///
/// The old one stays valid until it ends: Talos knows no revocation.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ichor secrets renew --ttl 2160h")]
pub(super) struct Args {
    /// Bundle to read [default: `secrets` of ichor.yaml, else secrets.sops.yaml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// What the certificate allows; more than one may be named
    #[arg(long = "role", value_name = "ROLE", default_value = "os:admin")]
    roles: Vec<String>,
    #[command(flatten)]
    life: Life,
    #[command(flatten)]
    key: Key,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let file = place::named_or_here(args.file.as_deref())?;
    let life = args.life.get()?;
    let (bundle, recipients) = place::open(&file, args.key.identity.as_deref())?;
    let roles: Vec<_> = args.roles.iter().map(String::as_str).collect();
    let admin = client_certificate(&bundle.os, &roles, &mut OsRng, sealed::now(), life)
        .context("cannot make the administrator's certificate")?;
    let path = place::admin_file(&file);
    place::keep_admin(&path, &admin, recipients.as_ref())?;
    writeln!(out, "{}", path.display())?;
    Ok(ExitCode::SUCCESS)
}
