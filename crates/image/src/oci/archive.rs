//! Tar archives that images and extensions come in.

use std::io::Read;

use super::blob_store::BlobStore;
use super::descriptor::Descriptor;
use super::error::{LayerError, SourceError};
use super::file_tree::FileTree;
use super::layout::LIST;
use super::source::{BlobSource, LARGEST_DOCUMENT};
use super::unpack::LayerUnpacker;

/// The manifest of an extension.
const MANIFEST: &str = "manifest.yaml";

/// A tar archive, which may be compressed.
#[derive(Debug)]
pub enum Archive {
    /// An image layout.
    Layout(ArchivedLayout),
    /// The files of an extension without an image, which Talos' imager accepts as well: a manifest beside `rootfs`.
    Extension(FileTree),
}

/// A layout that came in an archive.
#[derive(Debug)]
pub struct ArchivedLayout(FileTree);

/// An archive that holds no layout.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It cannot be unpacked.
    #[error("cannot be unpacked")]
    Layer(#[from] LayerError),
    /// It is an archive of other files.
    #[error("not an OCI archive: {LIST} is missing{0}")]
    Other(&'static str),
}

impl Archive {
    /// Reads an archive as a stream. Long entries are kept in the blob store.
    pub fn open(bytes: impl Read, spool: &mut dyn BlobStore) -> Result<Self, ArchiveError> {
        let mut unpack = LayerUnpacker::new(spool);
        unpack.layer(bytes, None)?;
        let root = unpack.finish();
        if root.file(LIST).is_some() {
            return Ok(Self::Layout(ArchivedLayout(root)));
        }
        if root.file(MANIFEST).is_some() && root.get("rootfs").is_some() {
            return Ok(Self::Extension(root));
        }
        let is_docker = root.file("manifest.json").is_some();
        let hint = if is_docker {
            "; convert it with `skopeo copy docker-archive:FILE oci-archive:OTHER`"
        } else {
            ""
        };
        Err(ArchiveError::Other(hint))
    }

    /// The layout in it.
    pub fn layout(self) -> Result<ArchivedLayout, ArchiveError> {
        match self {
            Self::Layout(unpacked) => Ok(unpacked),
            Self::Extension(_) => Err(ArchiveError::Other("; it contains an extension without an image")),
        }
    }
}

impl BlobSource for ArchivedLayout {
    fn top(&mut self) -> Result<Vec<u8>, SourceError> {
        Ok(self.0.load(LIST, LARGEST_DOCUMENT)?.ok_or("the index is too large")?)
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, SourceError> {
        let content = self.0.file(&descriptor.digest.path());
        Ok(Box::new(content.ok_or("the archive lacks it")?.reader()))
    }
}
