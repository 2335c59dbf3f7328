//! Files and disks as images.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use ichor_core::media::Image;

/// A file, or a disk of this machine.
pub(super) struct Opened {
    file: File,
    size: u64,
}

impl Opened {
    /// The length of a disk is only known by going to its end.
    pub(super) fn new(mut file: File) -> io::Result<Self> {
        let size = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, size })
    }
}

impl Image for Opened {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}
