//! Metadata: blocks of 8 KiB, each compressed separately.

use std::io;

use super::super::compressor::BlockCompressor;
use super::super::{METADATA, PLAIN_METADATA};

/// A table of metadata.
pub(super) struct MetadataWriter {
    written: Vec<u8>,
    block: Vec<u8>,
    presser: BlockCompressor,
}

/// A position in such a table: the start of its block in the image, and the offset in the uncompressed block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MetadataPosition {
    pub(crate) block: u32,
    pub(crate) offset: u16,
}

impl MetadataPosition {
    /// As one number.
    pub(super) fn reference(self) -> u64 {
        u64::from(self.block) << 16 | u64::from(self.offset)
    }
}

impl MetadataWriter {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { written: Vec::new(), block: Vec::new(), presser: BlockCompressor::new()? })
    }

    /// The position of the next byte.
    pub(super) fn position(&self) -> io::Result<MetadataPosition> {
        let block = u32::try_from(self.written.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        Ok(MetadataPosition { block, offset: u16::try_from(self.block.len()).expect("less than a block") })
    }

    /// Adds bytes.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(METADATA - self.block.len()));
            self.block.extend(now);
            bytes = later;
            if self.block.len() == METADATA {
                self.close()?;
            }
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        let pressed = self.presser.press(&self.block)?;
        let (bytes, flag) =
            if pressed.len() < self.block.len() { (&pressed, 0) } else { (&self.block, PLAIN_METADATA) };
        let length = u16::try_from(bytes.len()).expect("at most a block");
        self.written.extend((length | flag).to_le_bytes());
        self.written.extend(bytes);
        self.block.clear();
        Ok(())
    }

    /// The complete table.
    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        if !self.block.is_empty() {
            self.close()?;
        }
        Ok(self.written)
    }
}
