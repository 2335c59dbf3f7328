//! An image layout on disk.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::bail;
use ichor_image::oci::{Descriptor, Failure, LARGEST_DOCUMENT, LAYOUT, LIST, Source};

use super::{open, read};

/// A folder with an image layout.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        if !path.join(LAYOUT).is_file() {
            bail!("{} is not an OCI layout: there is no file {LAYOUT} in it", path.display());
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
