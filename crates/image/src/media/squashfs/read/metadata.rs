//! Metadata, block by block.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::{METADATA, PLAIN_METADATA};
use super::Squashfs;
use crate::media::image::{ImageError, low16, piece};

/// The number of cached blocks.
const REMEMBERED: usize = 128;

/// Blocks that were read, by where they are.
#[derive(Default)]
pub(super) struct MetadataCache(BTreeMap<u64, Rc<MetadataBlock>>);

/// A block as it was before it was compressed, and where the next one is.
struct MetadataBlock {
    bytes: Vec<u8>,
    next: u64,
}

/// A place in metadata, from which it is read.
pub(super) struct MetadataCursor<'f, 'i> {
    squashfs: &'f Squashfs<'i>,
    block: u64,
    offset: usize,
}

impl<'i> Squashfs<'i> {
    /// The position of a reference into a table.
    pub(super) fn cursor(
        &self,
        table: u64,
        block: u64,
        offset: u16,
    ) -> Result<MetadataCursor<'_, 'i>, ImageError> {
        let block = table.checked_add(block).ok_or(ImageError::Broken("metadata position"))?;
        Ok(MetadataCursor { squashfs: self, block, offset: offset.into() })
    }

    fn block(&self, at: u64) -> Result<Rc<MetadataBlock>, ImageError> {
        if let Some(block) = self.blocks.borrow().0.get(&at) {
            return Ok(block.clone());
        }
        let head = low16(&piece(self.image, at, 2, "metadata")?, 0);
        let length = usize::from(head & !PLAIN_METADATA);
        if length == 0 || length > METADATA {
            return Err(ImageError::Broken("metadata"));
        }
        let stored = piece(self.image, at + 2, length, "metadata")?;
        let is_plain = head & PLAIN_METADATA != 0;
        let bytes = if is_plain { stored } else { self.compressor.unpack(&stored, METADATA)? };
        let block = Rc::new(MetadataBlock { bytes, next: at + 2 + length as u64 });
        let remembered = &mut self.blocks.borrow_mut().0;
        if remembered.len() == REMEMBERED {
            remembered.clear();
        }
        remembered.insert(at, block.clone());
        Ok(block)
    }
}

impl MetadataCursor<'_, '_> {
    /// The next bytes. `length` is small: callers check it.
    pub(super) fn read(&mut self, length: usize) -> Result<Vec<u8>, ImageError> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let block = self.squashfs.block(self.block)?;
            let rest = block.bytes.get(self.offset..).ok_or(ImageError::Broken("metadata position"))?;
            if rest.is_empty() && block.bytes.len() < METADATA {
                return Err(ImageError::Broken("metadata"));
            }
            let now = rest.len().min(length - bytes.len());
            bytes.extend(&rest[..now]);
            self.offset += now;
            if self.offset == METADATA {
                (self.block, self.offset) = (block.next, 0);
            }
        }
        Ok(bytes)
    }
}

impl MetadataCursor<'_, '_> {
    /// Its position: a block of the image, and an offset in it.
    pub(super) fn place(&self) -> (u64, u16) {
        (self.block, u16::try_from(self.offset).expect("in a block"))
    }
}
