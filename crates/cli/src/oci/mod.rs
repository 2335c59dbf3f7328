//! Container images on disk and in registries.
//!
//! [`ImageLocation::parse`] distinguishes a folder, a file and a registry, and [`ImageLocation::open`] returns the blob
//! source that `ichor_image::oci` reads from. [`write()`] writes a layout to disk atomically.

mod blob_cache;
mod challenge;
mod credential_helper;
mod credentials;
mod folder;
mod output;
mod registry;
mod temp_file;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use ichor_image::oci::{Archive, ArchiveError, BlobSource, LAYOUT, Reference, ReferenceError};

pub(crate) use blob_cache::CachedSource;
pub(crate) use folder::LayoutFolder;
pub(crate) use output::{check, check_folder, write};
pub(crate) use registry::Registry;
pub(crate) use temp_file::{TempFileError, TempFileStore, explain_full_disk};

/// Errors of opening an image or a part of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageOpenError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not a regular file", path.display())]
    NotRegular { path: PathBuf },
    #[error("{} is larger than {} MiB", path.display(), most >> 20)]
    TooLarge { path: PathBuf, most: u64 },
    #[error("{} is not an OCI layout: missing file {LAYOUT}", path.display())]
    NotLayout { path: PathBuf },
    #[error("cannot use {}", path.display())]
    Archive { path: PathBuf, source: ArchiveError },
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error(transparent)]
    Spool(#[from] TempFileError),
}

/// Location of an image.
#[derive(Clone, Debug)]
pub(crate) enum ImageLocation {
    Folder(PathBuf),
    File(PathBuf),
    Registry(Reference),
}

impl ImageLocation {
    /// Parses an argument; existing paths take precedence over image references.
    pub(crate) fn parse(text: &str) -> Result<Self, ImageOpenError> {
        let path = Path::new(text);
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Ok(Self::Folder(path.to_owned())),
            Ok(_) => return Ok(Self::File(path.to_owned())),
            Err(source) if text.starts_with(['.', '/']) || path.extension().is_some_and(|it| it == "tar") => {
                return Err(ImageOpenError::Read { path: path.to_owned(), source });
            }
            Err(_) => {}
        }
        Ok(Self::Registry(Reference::parse(text)?))
    }

    /// Opens the image.
    pub(crate) fn open(&self, insecure: bool) -> Result<Box<dyn BlobSource>, ImageOpenError> {
        Ok(match self {
            Self::Folder(path) => Box::new(LayoutFolder::open(path)?),
            Self::File(path) => {
                let unpacked = archive(path)?.layout();
                Box::new(unpacked.map_err(|source| ImageOpenError::Archive { path: path.clone(), source })?)
            }
            Self::Registry(reference) => Box::new(Registry::new(reference.clone(), insecure)),
        })
    }

    /// The error message for an unreadable image. A mistyped path looks like an image on Docker Hub, so both are named.
    pub(crate) fn read_error(&self, argument: &str) -> String {
        match self {
            Self::Registry(reference) if !argument.starts_with(&reference.host) => {
                format!("no file or folder {argument}, and cannot read the image {reference}")
            }
            _ => format!("cannot read the image {argument}"),
        }
    }

    /// Reference for the source annotation of an image. Local paths are omitted: they mean nothing elsewhere.
    pub(crate) fn source_ref(&self, digest: &ichor_image::oci::Digest) -> String {
        match self {
            Self::Registry(reference) => {
                format!("{}/{}@{digest}", reference.host, reference.repository)
            }
            Self::Folder(_) | Self::File(_) => format!("image {digest}"),
        }
    }
}

/// Opens a tar archive with images or an extension.
pub(crate) fn archive(path: &Path) -> Result<Archive, ImageOpenError> {
    Archive::open(open(path)?, &mut TempFileStore::new()?)
        .map_err(|source| ImageOpenError::Archive { path: path.to_owned(), source })
}

/// Opens a regular file.
fn open(path: &Path) -> Result<File, ImageOpenError> {
    let failed = |source| ImageOpenError::Read { path: path.to_owned(), source };
    // Opening a pipe would block.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(ImageOpenError::NotRegular { path: path.to_owned() });
    }
    File::open(path).map_err(failed)
}

/// Reads a regular file up to a size limit.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, ImageOpenError> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|source| ImageOpenError::Read { path: path.to_owned(), source })?;
    if bytes.len() as u64 > most {
        return Err(ImageOpenError::TooLarge { path: path.to_owned(), most });
    }
    Ok(bytes)
}
