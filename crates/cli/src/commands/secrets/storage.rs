//! The files of a secrets bundle and the administrator's certificate, and their recipients.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use ichor_talos::secrets::{Bundle, Pair, admin_certificate, write_admin};
use ichor_values as value;
use ichor_values::TalosVersion;
use rand_core::OsRng;

use crate::cluster_secrets::bundle_file::{PLAIN, SEALED, admin_file, configured_path, default_path};
use crate::recipient::Recipients;
use crate::{disk, encrypted_file, project, style};

const CLUSTER: &str = "ichor.yaml";
/// The default lifetime of the administrator's certificate, as of talosctl.
const YEAR: Duration = Duration::from_hours(8760);

/// The secrets settings of the cluster file in the working folder.
#[derive(Default)]
pub(super) struct SecretsSettings {
    pub(super) file: Option<PathBuf>,
    pub(super) recipients: Vec<String>,
    pub(super) talos: Option<TalosVersion>,
}

impl SecretsSettings {
    /// Reads the cluster file in the working folder; without one, the settings are empty.
    pub(super) fn load() -> anyhow::Result<Self> {
        if !Path::new(CLUSTER).exists() {
            return Ok(Self::default());
        }
        let Ok(project) = project::open(Path::new(CLUSTER)) else {
            bail!(
                "cannot read the secrets settings of {CLUSTER}: it has problems; run `ichor check` to see them"
            );
        };
        let file = &project.cluster.file;
        Ok(Self {
            file: configured_path(&project),
            recipients: file
                .secrets_for
                .get()
                .map_or_else(Vec::new, |list| list.values().map(ToString::to_string).collect()),
            talos: Some(project.plan.cluster.contract.value.clone()),
        })
    }

    /// The file of the bundle.
    pub(super) fn bundle(&self, named: Option<&PathBuf>) -> PathBuf {
        named.or(self.file.as_ref()).cloned().unwrap_or_else(|| default_path(CLUSTER))
    }
}

/// The given bundle, or else that of the cluster file in the working folder.
pub(super) fn bundle_path(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    match named {
        Some(file) => Ok(file.to_owned()),
        None => Ok(SecretsSettings::load()?.bundle(None)),
    }
}

/// The lifetime of the administrator's certificate.
#[derive(Debug, clap::Args)]
pub(super) struct CertificateLifetime {
    /// Lifetime of the administrator's certificate [default: 8760h]
    #[arg(long, value_name = "DURATION")]
    ttl: Option<String>,
}

impl CertificateLifetime {
    pub(super) fn get(&self) -> anyhow::Result<Duration> {
        let Some(text) = &self.ttl else { return Ok(YEAR) };
        let Ok(life) = value::Duration::parse(text) else {
            bail!("--ttl {text}: not a duration; want one such as 8760h or 365d");
        };
        let life = Duration::from_secs(life.0);
        anyhow::ensure!(!life.is_zero(), "--ttl {text}: the lifetime must not be zero");
        Ok(life)
    }
}

/// How new files are stored.
#[derive(Debug, clap::Args)]
pub(super) struct StorageOptions {
    /// Encrypt for this age recipient (repeatable)
    #[arg(long, value_name = "RECIPIENT")]
    age: Vec<String>,
    /// Write the files unencrypted, with mode 0600
    #[arg(long, conflicts_with = "age")]
    plain: bool,
    #[command(flatten)]
    pub(super) life: CertificateLifetime,
}

/// The paths and recipients of new files, none of which exists yet.
pub(super) struct NewSecretFiles {
    bundle: PathBuf,
    admin: PathBuf,
    recipients: Option<Recipients>,
    life: Duration,
}

impl StorageOptions {
    /// The settings of the cluster file in the working folder, which is not read if all of them are given as options.
    pub(super) fn settings(&self, all_named: bool) -> anyhow::Result<SecretsSettings> {
        if all_named && (self.plain || !self.age.is_empty()) {
            Ok(SecretsSettings::default())
        } else {
            SecretsSettings::load()
        }
    }

    /// Checks paths and recipients before keys are generated.
    pub(super) fn prepare(
        &self,
        named: Option<&PathBuf>,
        cluster: &SecretsSettings,
    ) -> anyhow::Result<NewSecretFiles> {
        let default = PathBuf::from(if self.plain { PLAIN } else { SEALED });
        let bundle = named.or(cluster.file.as_ref()).cloned().unwrap_or(default);
        let admin = admin_file(&bundle);
        for path in [&bundle, &admin] {
            refuse_existing(path)?;
        }
        let recipients = if self.plain {
            None
        } else {
            Some(Recipients::choose(&self.age, &cluster.recipients, &bundle)?)
        };
        Ok(NewSecretFiles { bundle, admin, recipients, life: self.life.get()? })
    }
}

impl NewSecretFiles {
    /// Writes the bundle and the administrator's certificate: both or none.
    pub(super) fn write(&self, bundle: &Bundle, out: &mut dyn std::io::Write) -> anyhow::Result<()> {
        let admin = admin_certificate(&bundle.os, &mut OsRng, ichor_system::now(), self.life)
            .context("cannot create the administrator's certificate")?;
        let (bundle, admin) = (self.encrypted(&bundle.write())?, self.encrypted(&write_admin(&admin))?);
        disk::create_private(&self.bundle, bundle.as_bytes())?;
        if let Err(error) = disk::create_private(&self.admin, admin.as_bytes()) {
            // A bundle without its administrator's certificate is incomplete.
            std::fs::remove_file(&self.bundle)
                .with_context(|| format!("cannot remove {}", self.bundle.display()))?;
            return Err(error.into());
        }
        for path in [&self.bundle, &self.admin] {
            writeln!(out, "{}", path.display())?;
        }
        style::say(&match &self.recipients {
            Some(recipients) => format!("encrypted for {}", recipients.names().join(", ")),
            None => "not encrypted (mode 0600); keep the files out of version control".to_owned(),
        });
        Ok(())
    }

    fn encrypted(&self, text: &str) -> anyhow::Result<String> {
        encrypted(text, self.recipients.as_ref())
    }
}

fn encrypted(text: &str, recipients: Option<&Recipients>) -> anyhow::Result<String> {
    Ok(match recipients {
        Some(recipients) => encrypted_file::seal(text, recipients)?,
        None => text.to_owned(),
    })
}

/// Replaces the administrator's certificate.
pub(super) fn replace_admin(
    path: &Path,
    admin: &Pair,
    recipients: Option<&Recipients>,
) -> anyhow::Result<()> {
    disk::replace_private(path, encrypted(&write_admin(admin), recipients)?.as_bytes())?;
    Ok(())
}

/// Writes a client certificate to a new file.
pub(super) fn create_client(
    path: &Path,
    client: &Pair,
    recipients: Option<&Recipients>,
) -> anyhow::Result<()> {
    refuse_existing(path)?;
    disk::create_private(path, encrypted(&write_admin(client), recipients)?.as_bytes())?;
    Ok(())
}

/// Refuses to overwrite secrets.
pub(super) fn refuse_existing(path: &Path) -> anyhow::Result<()> {
    if path.symlink_metadata().is_ok() {
        bail!("{} already exists, and secrets are never overwritten; choose another file", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_administrators_certificate_is_stored_next_to_the_bundle() {
        let admin = |bundle| admin_file(Path::new(bundle)).display().to_string();

        assert_eq!(admin("a/secrets.sops.yaml"), "a/admin.sops.yaml");
        assert_eq!(admin("sol-secrets.yaml"), "sol-admin.yaml");
        assert_eq!(admin("sol.yaml"), "admin-sol.yaml");
        assert_eq!(admin("secrets/secrets.yaml"), "secrets/admin.yaml");
    }
}
