//! An image layout in a tar archive, read from memory.

use super::descriptor::Descriptor;
use super::error::Failure;
use super::layer::{LayerError, Unpack};
use super::layout::LIST;
use super::root::Root;
use super::source::Source;

/// A layout in a tar archive, which may be compressed.
pub struct Archive(Root);

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
    /// Opens an archive.
    pub fn open(bytes: &[u8]) -> Result<Self, ArchiveError> {
        let mut unpack = Unpack::default();
        unpack.layer(bytes, None)?;
        let root = unpack.finish();
        if root.read(LIST).is_none() {
            let is_docker = root.read("manifest.json").is_some();
            let hint = if is_docker {
                "; `skopeo copy docker-archive:FILE oci-archive:OTHER` makes one"
            } else {
                ""
            };
            return Err(ArchiveError::Other(hint));
        }
        Ok(Self(root))
    }
}

impl Source for Archive {
    fn top(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(self.0.read(LIST).map(|bytes| bytes.to_vec()).unwrap_or_default())
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Vec<u8>, Failure> {
        let bytes = self.0.read(&descriptor.digest.path());
        Ok(bytes.ok_or("it is not in the archive")?.to_vec())
    }
}
