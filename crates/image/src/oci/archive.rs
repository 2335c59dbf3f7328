//! Tar archives that images and extensions come in.

use std::io::Read;

use super::descriptor::Descriptor;
use super::error::{Failure, LayerError};
use super::layout::LIST;
use super::root::Root;
use super::source::{LARGEST_DOCUMENT, Source};
use super::spool::Spool;
use super::unpack::Unpack;

/// What an extension says of itself.
const MANIFEST: &str = "manifest.yaml";

/// A tar archive, which may be compressed.
#[derive(Debug)]
pub enum Archive {
    /// An image layout.
    Layout(Unpacked),
    /// The files of an extension as they are, which Talos' imager takes, too: a manifest beside `rootfs`.
    Extension(Root),
}

/// A layout that came in an archive.
#[derive(Debug)]
pub struct Unpacked(Root);

/// An archive that holds no layout.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It cannot be unpacked.
    #[error("cannot be unpacked")]
    Layer(#[from] LayerError),
    /// It is an archive of something else.
    #[error("not an OCI archive: there is no {LIST} in it{0}")]
    Other(&'static str),
}

impl Archive {
    /// Reads an archive from its start to its end. What is long in it is kept in the spool.
    pub fn open(bytes: impl Read, spool: &mut dyn Spool) -> Result<Self, ArchiveError> {
        let mut unpack = Unpack::new(spool);
        unpack.layer(bytes, None)?;
        let root = unpack.finish();
        if root.file(LIST).is_some() {
            return Ok(Self::Layout(Unpacked(root)));
        }
        if root.file(MANIFEST).is_some() && root.get("rootfs").is_some() {
            return Ok(Self::Extension(root));
        }
        let is_docker = root.file("manifest.json").is_some();
        let hint =
            if is_docker { "; `skopeo copy docker-archive:FILE oci-archive:OTHER` makes one" } else { "" };
        Err(ArchiveError::Other(hint))
    }

    /// The layout in it.
    pub fn layout(self) -> Result<Unpacked, ArchiveError> {
        match self {
            Self::Layout(unpacked) => Ok(unpacked),
            Self::Extension(_) => Err(ArchiveError::Other("; it is an extension without an image around it")),
        }
    }
}

impl Source for Unpacked {
    fn top(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(self.0.load(LIST, LARGEST_DOCUMENT)?.ok_or("it is longer than any list of images")?)
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, Failure> {
        let content = self.0.file(&descriptor.digest.path());
        Ok(Box::new(content.ok_or("it is not in the archive")?.reader()))
    }
}
