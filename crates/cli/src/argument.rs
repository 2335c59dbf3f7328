//! Command-line arguments that several commands share, and the parsers of their values.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_values::{self as value, ValueError};

use crate::project::{self, Project};
use crate::refusal::Refusal;

/// The cluster file, as the positional argument of a command.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterFile {
    /// Cluster file to read
    #[arg(value_name = "FILE", default_value = "ichor.yaml")]
    pub file: PathBuf,
}

impl ClusterFile {
    /// Reads the file and plans the cluster.
    pub(crate) fn open(&self) -> Result<Project, Refusal> {
        project::open(&self.file)
    }
}

/// The cluster file, as an option of a command with other positional arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterOption {
    /// Cluster file to read
    #[arg(long, value_name = "FILE", default_value = "ichor.yaml")]
    pub file: PathBuf,
}

impl ClusterOption {
    /// Reads the file and plans the cluster.
    pub(crate) fn open(&self) -> Result<Project, Refusal> {
        project::open(&self.file)
    }
}

/// The age identities that decrypt secrets.
#[derive(Debug, clap::Args)]
pub(crate) struct IdentityFile {
    /// File with the age identities that decrypt secrets
    ///
    /// [default: the identities of SOPS: $SOPS_AGE_KEY, $SOPS_AGE_KEY_FILE or ~/.config/sops/age/keys.txt]
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

impl IdentityFile {
    /// The path, if the option is set.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.identity.as_deref()
    }
}

/// The output format of a command that reports.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputFormat {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The output format of a command that changes machines.
#[derive(Debug, clap::Args)]
pub(crate) struct EventFormat {
    /// Print progress as JSON events, one per line
    #[arg(long)]
    pub json: bool,
}

/// Dry run: report the changes without applying them.
#[derive(Debug, clap::Args)]
pub(crate) struct DryRun {
    /// Print the changes without making them
    #[arg(long = "dry-run")]
    pub enabled: bool,
}

/// Confirmation before an irreversible change.
#[derive(Debug, clap::Args)]
pub(crate) struct Confirmation {
    /// Skip the confirmation prompt
    #[arg(long)]
    pub yes: bool,
}

/// The folder with the images that `ichor image build` wrote.
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesFolder {
    /// Folder with the images of `ichor image build`
    #[arg(long, value_name = "DIR", default_value = "images")]
    pub images: PathBuf,
}

/// Why the value of an argument is rejected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgumentError {
    /// The value has another form than expected.
    #[error("want {0}")]
    Want(Cow<'static, str>),
    #[error("{0}; want one such as 90s or 20m")]
    Time(ValueError),
    #[error("`{0}` is not an IP address")]
    Address(String),
    #[error("not a fingerprint; want 32 bytes in base64, as on the Talos console")]
    Fingerprint,
    #[error("unknown platform; want one of {0}")]
    Platform(String),
}

impl ArgumentError {
    /// An error that names the expected form.
    pub(crate) fn want(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Want(what.into())
    }

    /// An error that lists the accepted words.
    pub(crate) fn want_one_of(words: &[&str]) -> Self {
        Self::want(format!("one of {}", words.join(", ")))
    }
}

/// Parses a duration such as `90s` or `20m`.
pub(crate) fn time(text: &str) -> Result<Duration, ArgumentError> {
    let time = value::Duration::parse(text).map_err(ArgumentError::Time)?;
    Ok(Duration::from_secs(time.0))
}
