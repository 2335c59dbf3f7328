//! Where a bundle and the administrator's certificate are kept, and for whom.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use ichor_talos::secrets::{Bundle, Pair, admin_certificate, write_admin};
use ichor_values as value;
use ichor_values::TalosVersion;
use rand_core::OsRng;

use crate::recipient::Recipients;
use crate::vault::place::{PLAIN, SEALED, admin_file, usual, written};
use crate::{disk, project, sealed, style};

const CLUSTER: &str = "ichor.yaml";
/// How long the administrator's certificate lasts, as talosctl makes it.
const YEAR: Duration = Duration::from_hours(8760);

/// What the cluster file in the working folder says about secrets.
#[derive(Default)]
pub(super) struct Cluster {
    pub(super) file: Option<PathBuf>,
    pub(super) recipients: Vec<String>,
    pub(super) talos: Option<TalosVersion>,
}

impl Cluster {
    /// Reads it; where there is none, it says nothing.
    pub(super) fn here() -> anyhow::Result<Self> {
        if !Path::new(CLUSTER).exists() {
            return Ok(Self::default());
        }
        let Ok(project) = project::open(Path::new(CLUSTER)) else {
            bail!(
                "{CLUSTER} has problems, and file, recipients and Talos version come from it; see `ichor check`"
            );
        };
        let file = &project.cluster.file;
        Ok(Self {
            file: written(&project),
            recipients: file
                .secrets_for
                .get()
                .map_or_else(Vec::new, |list| list.values().map(ToString::to_string).collect()),
            talos: Some(project.plan.cluster.contract.value.clone()),
        })
    }

    /// The file that holds the bundle.
    pub(super) fn bundle(&self, named: Option<&PathBuf>) -> PathBuf {
        named.or(self.file.as_ref()).cloned().unwrap_or_else(|| usual(CLUSTER))
    }
}

/// The bundle that is named, else that of the cluster in the working folder, which is not read for one that is named.
pub(super) fn named_or_here(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    match named {
        Some(file) => Ok(file.to_owned()),
        None => Ok(Cluster::here()?.bundle(None)),
    }
}

/// How long the administrator's certificate lasts.
#[derive(Debug, clap::Args)]
pub(super) struct Life {
    /// How long the administrator's certificate lasts, such as 8760h [default: a year]
    #[arg(long, value_name = "DURATION")]
    ttl: Option<String>,
}

impl Life {
    pub(super) fn get(&self) -> anyhow::Result<Duration> {
        let Some(text) = &self.ttl else { return Ok(YEAR) };
        let Ok(life) = value::Duration::parse(text) else {
            bail!("--ttl {text}: not a duration; want one such as 8760h or 365d");
        };
        let life = Duration::from_secs(life.0);
        anyhow::ensure!(!life.is_zero(), "--ttl {text}: a certificate that lasts no time is of no use");
        Ok(life)
    }
}

/// How new files are kept.
#[derive(Debug, clap::Args)]
pub(super) struct Keeping {
    /// Encrypt for this age recipient; more than one may be named
    #[arg(long, value_name = "RECIPIENT")]
    age: Vec<String>,
    /// Keep the files in the clear, for your eyes only (mode 0600)
    #[arg(long, conflicts_with = "age")]
    plain: bool,
    #[command(flatten)]
    pub(super) life: Life,
}

/// New files of a cluster: nothing is there yet, and for whom they are is known.
pub(super) struct Ready {
    bundle: PathBuf,
    admin: PathBuf,
    recipients: Option<Recipients>,
    life: Duration,
}

impl Keeping {
    /// The cluster in the working folder, which is not read where everything was said.
    pub(super) fn cluster(&self, all_named: bool) -> anyhow::Result<Cluster> {
        if all_named && (self.plain || !self.age.is_empty()) {
            Ok(Cluster::default())
        } else {
            Cluster::here()
        }
    }

    /// Finds everything out that can go wrong before a key is made.
    pub(super) fn ready(&self, named: Option<&PathBuf>, cluster: &Cluster) -> anyhow::Result<Ready> {
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
        Ok(Ready { bundle, admin, recipients, life: self.life.get()? })
    }
}

impl Ready {
    /// Writes bundle and administrator's certificate: both, or neither.
    pub(super) fn write(&self, bundle: &Bundle, out: &mut dyn std::io::Write) -> anyhow::Result<()> {
        let admin = admin_certificate(&bundle.os, &mut OsRng, ichor_system::now(), self.life)
            .context("cannot make the administrator's certificate")?;
        let (bundle, admin) = (self.closed(&bundle.write())?, self.closed(&write_admin(&admin))?);
        disk::create_private(&self.bundle, bundle.as_bytes())?;
        if let Err(error) = disk::create_private(&self.admin, admin.as_bytes()) {
            // A bundle without its administrator is half of the work.
            std::fs::remove_file(&self.bundle)
                .with_context(|| format!("cannot take back {}", self.bundle.display()))?;
            return Err(error.into());
        }
        for path in [&self.bundle, &self.admin] {
            writeln!(out, "{}", path.display())?;
        }
        style::say(&match &self.recipients {
            Some(recipients) => format!("encrypted for {}", recipients.names().join(", ")),
            None => {
                "in the clear, for your eyes only (mode 0600): keep them out of version control".to_owned()
            }
        });
        Ok(())
    }

    fn closed(&self, text: &str) -> anyhow::Result<String> {
        closed(text, self.recipients.as_ref())
    }
}

fn closed(text: &str, recipients: Option<&Recipients>) -> anyhow::Result<String> {
    Ok(match recipients {
        Some(recipients) => sealed::seal(text, recipients)?,
        None => text.to_owned(),
    })
}

/// Writes the administrator's certificate over the one before it.
pub(super) fn keep_admin(path: &Path, admin: &Pair, recipients: Option<&Recipients>) -> anyhow::Result<()> {
    disk::replace_private(path, closed(&write_admin(admin), recipients)?.as_bytes())?;
    Ok(())
}

/// Writes somebody else's certificate to a file that is not there yet.
pub(super) fn add_client(path: &Path, client: &Pair, recipients: Option<&Recipients>) -> anyhow::Result<()> {
    refuse_existing(path)?;
    disk::create_private(path, closed(&write_admin(client), recipients)?.as_bytes())?;
    Ok(())
}

/// Secrets are never overwritten.
pub(super) fn refuse_existing(path: &Path) -> anyhow::Result<()> {
    if path.symlink_metadata().is_ok() {
        bail!("{} exists already, and secrets are never overwritten; name another file", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_administrator_is_kept_beside_the_bundle() {
        let admin = |bundle| admin_file(Path::new(bundle)).display().to_string();

        assert_eq!(admin("a/secrets.sops.yaml"), "a/admin.sops.yaml");
        assert_eq!(admin("sol-secrets.yaml"), "sol-admin.yaml");
        assert_eq!(admin("sol.yaml"), "admin-sol.yaml");
        assert_eq!(admin("secrets/secrets.yaml"), "secrets/admin.yaml");
    }
}
