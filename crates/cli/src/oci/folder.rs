//! An image layout on disk.

use std::io::Read;
use std::path::{Path, PathBuf};

use ichor_image::oci::{Descriptor, Failure, LARGEST_DOCUMENT, LAYOUT, LIST, Source};

use super::{ImageOpenError, open, read};

/// A folder with an image layout.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Self, ImageOpenError> {
        if !path.join(LAYOUT).is_file() {
            return Err(ImageOpenError::NotLayout { path: path.to_owned() });
        }
        Ok(Self(path.to_owned()))
    }
}

impl Source for Folder {
    fn top(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(read(&self.0.join(LIST), LARGEST_DOCUMENT)?)
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, Failure> {
        Ok(Box::new(open(&self.0.join(descriptor.digest.path()))?))
    }
}
