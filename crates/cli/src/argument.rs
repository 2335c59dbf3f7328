//! What several commands are told on the command line.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_values::{self as value, ValueError};

use crate::project::{self, Project};
use crate::refused::Refused;

/// The cluster file, as the last word of a command.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterFile {
    /// Cluster file
    #[arg(default_value = "ichor.yaml")]
    pub file: PathBuf,
}

impl ClusterFile {
    /// Reads it and decides everything about it.
    pub(crate) fn open(&self) -> Result<Project, Refused> {
        project::open(&self.file)
    }
}

/// The cluster file of a command whose words are something else.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterOption {
    /// Cluster file
    #[arg(long, value_name = "FILE", default_value = "ichor.yaml")]
    pub file: PathBuf,
}

impl ClusterOption {
    /// Reads it and decides everything about it.
    pub(crate) fn open(&self) -> Result<Project, Refused> {
        project::open(&self.file)
    }
}

/// What opens secrets.
#[derive(Debug, clap::Args)]
pub(crate) struct IdentityFile {
    /// File with age identities that open the secrets, in place of those SOPS would use
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

impl IdentityFile {
    /// Where it is, if one is named.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.identity.as_deref()
    }
}

/// In which form an answer is printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Format {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// In which form it is told what a command changes.
#[derive(Debug, clap::Args)]
pub(crate) struct Events {
    /// Tell what happens as JSON, one event a line
    #[arg(long)]
    pub json: bool,
}

/// Whether something is changed at all.
#[derive(Debug, clap::Args)]
pub(crate) struct Rehearsal {
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Whether somebody is asked before something cannot be undone.
#[derive(Debug, clap::Args)]
pub(crate) struct Consent {
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// Where images are that ichor made.
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesFolder {
    /// Folder that `ichor image build` wrote to
    #[arg(long, value_name = "DIR", default_value = "images")]
    pub images: PathBuf,
}

/// Why a word on the command line is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgumentError {
    /// It is something else; what would be right.
    #[error("want {0}")]
    Want(Cow<'static, str>),
    #[error("{0}: want one such as 90s or 20m")]
    Time(ValueError),
    #[error("`{0}` is no address")]
    Address(String),
    #[error("not a fingerprint: want 32 bytes in base64, as Talos shows it")]
    Fingerprint,
    #[error("Talos has no such platform; want one of {0}")]
    Platform(String),
}

impl ArgumentError {
    /// That something else is wanted.
    pub(crate) fn want(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Want(what.into())
    }

    /// That one of these words is wanted.
    pub(crate) fn want_one_of(words: &[&str]) -> Self {
        Self::want(format!("one of {}", words.join(", ")))
    }
}

/// How long something may take, as it is typed.
pub(crate) fn time(text: &str) -> Result<Duration, ArgumentError> {
    let time = value::Duration::parse(text).map_err(ArgumentError::Time)?;
    Ok(Duration::from_secs(time.0))
}
