//! Container images on disk and in registries.
//!
//! [`Place::parse`] tells a folder, a file and a registry apart, and [`Place::open`] gives the source of blobs that
//! `ichor_image::oci` reads from. [`write()`] puts a layout on disk, in one step.

mod cached;
mod challenge;
mod credentials;
mod folder;
mod helper;
mod output;
mod registry;
mod spool;

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use ichor_image::oci::{Archive, Reference, Source};

pub(crate) use cached::Cached;
pub(crate) use folder::Folder;
pub(crate) use output::{check, check_folder, write};
pub(crate) use registry::Registry;
pub(crate) use spool::{Disk, full};

/// Where an image is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Folder(PathBuf),
    File(PathBuf),
    Registry(Reference),
}

impl Place {
    /// What a word on the command line means: what is on disk comes first.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let path = Path::new(text);
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Ok(Self::Folder(path.to_owned())),
            Ok(_) => return Ok(Self::File(path.to_owned())),
            Err(error) if text.starts_with(['.', '/']) || path.extension().is_some_and(|it| it == "tar") => {
                return Err(error).with_context(|| format!("cannot read {text}"));
            }
            Err(_) => {}
        }
        Ok(Self::Registry(Reference::parse(text)?))
    }

    /// Opens it.
    pub(crate) fn open(&self, insecure: bool) -> anyhow::Result<Box<dyn Source>> {
        Ok(match self {
            Self::Folder(path) => Box::new(Folder::open(path)?),
            Self::File(path) => {
                let unpacked = archive(path)?.layout();
                Box::new(unpacked.with_context(|| format!("cannot use {}", path.display()))?)
            }
            Self::Registry(reference) => Box::new(Registry::new(reference.clone(), insecure)),
        })
    }

    /// What is said of a word whose image cannot be had: one that was meant as a path is taken for a name on Docker's hub.
    pub(crate) fn failure(&self, word: &str) -> String {
        match self {
            Self::Registry(reference) if !word.starts_with(&reference.host) => {
                format!("there is no file or folder {word}, and the image {reference} cannot be read")
            }
            _ => format!("cannot read the image {word}"),
        }
    }

    /// What it is called towards those who look for sources. Paths of this machine mean nothing to them.
    pub(crate) fn origin(&self, digest: &ichor_image::oci::Digest) -> String {
        match self {
            Self::Registry(reference) => {
                format!("{}/{}@{digest}", reference.host, reference.repository)
            }
            Self::Folder(_) | Self::File(_) => format!("image {digest}"),
        }
    }
}

/// What a tar archive on disk holds: images, or an extension.
pub(crate) fn archive(path: &Path) -> anyhow::Result<Archive> {
    Archive::open(open(path)?, &mut Disk::new()?).with_context(|| format!("cannot use {}", path.display()))
}

/// Opens a regular file.
fn open(path: &Path) -> anyhow::Result<File> {
    let failed = || format!("cannot read {}", path.display());
    // A pipe would be waited for.
    if !fs::metadata(path).with_context(failed)?.is_file() {
        bail!("{} is not a regular file", path.display());
    }
    File::open(path).with_context(failed)
}

/// Reads a regular file that is not too long.
pub(crate) fn read(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(most + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > most {
        bail!("{} is larger than {} MiB", path.display(), most >> 20);
    }
    Ok(bytes)
}
