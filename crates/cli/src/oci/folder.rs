//! An image layout on disk.

use std::io::Read;
use std::path::{Path, PathBuf};

use ichor_image::oci::{BlobSource, Descriptor, LARGEST_DOCUMENT, LAYOUT, LIST, SourceError};

use super::{ImageOpenError, open, read};

/// A folder with an image layout.
pub(crate) struct LayoutFolder(PathBuf);

impl LayoutFolder {
    pub(crate) fn open(path: &Path) -> Result<Self, ImageOpenError> {
        if !path.join(LAYOUT).is_file() {
            return Err(ImageOpenError::NotLayout { path: path.to_owned() });
        }
        Ok(Self(path.to_owned()))
    }
}

impl BlobSource for LayoutFolder {
    fn top(&mut self) -> Result<Vec<u8>, SourceError> {
        Ok(read(&self.0.join(LIST), LARGEST_DOCUMENT)?)
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, SourceError> {
        Ok(Box::new(open(&self.0.join(descriptor.digest.path()))?))
    }
}
